#include "cli/usage.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace npyfs {
namespace {

constexpr std::size_t kMostSuggestions = 3;

// Insertions, deletions and replacements that lead from one word to the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : known) {
    const std::size_t far = distance(word, candidate);
    const bool begins = word.size() > 2 && candidate.starts_with(word);
    if (begins || far <= std::max<std::size_t>(1, word.size() / 4)) {
      near.emplace_back(far, candidate);
    }
  }
  std::ranges::stable_sort(near, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(near.size(), kMostSuggestions); ++i) {
    words.push_back(std::move(near[i].second));
  }
  return words;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  std::string text;
  for (const std::string& candidate : nearest(word, known)) {
    text += (text.empty() ? "; did you mean " : ", ") + candidate;
  }
  return text.empty() ? text : text + "?";
}

}  // namespace npyfs
