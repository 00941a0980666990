// Wrong usage: what ends with exit status 2 and a text that names the word and the way out.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace npyfs {

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Those of `known` that `word` may be a slip of, the likeliest first; at most three.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

// "; did you mean a, b?", or "" if nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace npyfs
