#include "format/pickle_number.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <vector>

#include "format/pickle_faults.h"

namespace npyfs {

std::string decimal_of(Bytes little_endian) {
  const bool negative =
      !little_endian.empty() && (little_endian.back() & std::byte{0x80}) != std::byte{0};
  // The magnitude in words of 32 bits, the least first.
  std::vector<std::uint32_t> words((little_endian.size() + 3) / 4, negative ? ~0U : 0U);
  for (std::size_t i = 0; i < little_endian.size(); ++i) {
    const std::size_t shift = i % 4 * 8;
    words[i / 4] &= ~(0xFFU << shift);
    words[i / 4] |= std::to_integer<std::uint32_t>(little_endian[i]) << shift;
  }
  std::uint64_t carry = negative ? 1 : 0;
  for (std::uint32_t& word : words) {
    const std::uint64_t sum = (negative ? ~word : word) + carry;
    word = static_cast<std::uint32_t>(sum);
    carry = sum >> 32;
  }
  constexpr std::uint64_t kBillion = 1000000000;
  std::string digits;  // the last first
  while (!words.empty()) {
    std::uint64_t rest = 0;
    for (std::size_t i = words.size(); i-- > 0;) {
      const std::uint64_t value = rest << 32 | words[i];
      words[i] = static_cast<std::uint32_t>(value / kBillion);
      rest = value % kBillion;
    }
    for (int i = 0; i < 9; ++i) {
      digits.push_back(static_cast<char>('0' + rest % 10));
      rest /= 10;
    }
    while (!words.empty() && words.back() == 0) {
      words.pop_back();
    }
  }
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.empty()) {
    return "0";
  }
  if (negative) {
    digits.push_back('-');
  }
  return {digits.rbegin(), digits.rend()};
}

double big_endian_real(Bytes bytes) {
  std::uint64_t bits = 0;
  for (const std::byte byte : bytes) {
    bits = bits << 8 | std::to_integer<std::uint64_t>(byte);
  }
  return std::bit_cast<double>(bits);
}

double parse_real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument) {
    throw_broken_pickle("no number in ", text.size(), " bytes of a float");
  }
  return value;
}

}  // namespace npyfs
