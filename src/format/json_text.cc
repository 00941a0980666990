#include "npyfs/format/json_text.h"

#include "npyfs/base/text.h"

namespace npyfs {
namespace {

void append_escape(std::string& out, char c) {
  constexpr char kDigits[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += "\\u00";
      out += kDigits[static_cast<unsigned char>(c) >> 4];
      out += kDigits[static_cast<unsigned char>(c) & 15];
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const char c = text.front();
    if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == '\x7F') {
      append_escape(out, c);
      text.remove_prefix(1);
      continue;
    }
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0) {
      append_percent(out, static_cast<unsigned char>(c));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

std::string json_quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_json_string(out, text);
  return out;
}

}  // namespace npyfs
