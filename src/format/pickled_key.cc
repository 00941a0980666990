#include "format/pickled_key.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "format/pickled_bytes.h"
#include "format/pickled_scalar.h"
#include "format/python_literal.h"

namespace npyfs {
namespace {

constexpr std::size_t kDeepestTuple = 8;
constexpr std::size_t kLongestTuple = 1024;  // bytes; a key beyond it has no name

void append_bytes(std::string& out, std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "b'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte >= ' ' && byte < 0x7F) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 0xF];
    }
  }
  out += '\'';
}

// Text stands as it is, but quoted within a tuple.
void append_text(std::string& out, std::string_view text, std::size_t depth) {
  if (depth > 0) {
    append_python_string(out, text);
  } else {
    out += text;
  }
}

// False if the scalar makes no name.
bool append_scalar(std::string& out, const PickledScalar& scalar, std::size_t depth) {
  if (const auto* truth = std::get_if<bool>(&scalar)) {
    out += *truth ? "True" : "False";
  } else if (const auto* integer = std::get_if<std::int64_t>(&scalar)) {
    out += std::to_string(*integer);
  } else if (const auto* natural = std::get_if<std::uint64_t>(&scalar)) {
    out += std::to_string(*natural);
  } else if (const auto* real = std::get_if<double>(&scalar)) {
    out += real_text(*real);
  } else if (const auto* text = std::get_if<ScalarText>(&scalar)) {
    append_text(out, text->text, depth);
  } else if (const auto* bytes = std::get_if<ScalarBytes>(&scalar)) {
    append_bytes(out, bytes->bytes);
  } else {
    return false;
  }
  return true;
}

// False if the key, or a part of it, can't be written down.
bool append_key(std::string& out, const Pickle& pickle, PickleId key, std::size_t depth) {
  switch (pickle.kind(key)) {
    case PickleKind::kNone:
      out += "None";
      return true;
    case PickleKind::kBool:
      out += pickle.boolean(key) ? "True" : "False";
      return true;
    case PickleKind::kInteger:
      out += std::to_string(pickle.integer(key));
      return true;
    case PickleKind::kReal:
      out += real_text(pickle.real(key));
      return true;
    case PickleKind::kTuple:
      break;
    case PickleKind::kBytes:
    case PickleKind::kCall: {
      const auto bytes = short_bytes(pickle, key);
      if (bytes) {
        append_bytes(out, *bytes);
        return true;
      }
      return pickle.kind(key) == PickleKind::kCall &&
             append_scalar(out, pickled_scalar(pickle, key), depth);
    }
    default: {
      const auto text = pickle.text(key);
      if (!text) {
        return false;
      }
      append_text(out, *text, pickle.kind(key) == PickleKind::kBigInteger ? 0 : depth);
      return true;
    }
  }
  const auto items = pickle.items(key);
  out += '(';
  for (std::size_t i = 0; i < items.size(); ++i) {
    out += i == 0 ? "" : ", ";
    if (depth == kDeepestTuple || out.size() > kLongestTuple ||
        !append_key(out, pickle, items[i], depth + 1)) {
      return false;
    }
  }
  out += items.size() == 1 ? ",)" : ")";
  return true;
}

}  // namespace

std::string pickled_key(const Pickle& pickle, PickleId key, std::size_t position) {
  std::string name;
  if (!append_key(name, pickle, key, 0)) {
    name = "item " + std::to_string(position);
  }
  return name;
}

std::string real_text(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value < 0 ? "-inf" : "inf";
  }
  // The shortest digits that read back the same; Python writes exponents from 1e16 and below 1e-4.
  std::array<char, 64> buffer;
  const double magnitude = std::abs(value);
  const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer.data(), result.ptr);
  if (plain && text.find('.') == std::string::npos) {
    text += ".0";
  }
  return text;
}

}  // namespace npyfs
