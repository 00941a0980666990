// The dictionary is read token by token into the header, with no tree between: a million headers
// are read before a mount, and most have one short descr and a few lengths.
#include "npyfs/format/npy_header.h"

#include <algorithm>
#include <array>
#include <optional>

#include "npyfs/base/error.h"
#include "npyfs/base/text.h"

#include "format/descr.h"
#include "format/python_literal.h"

namespace npyfs {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionEnd = 8;      // magic, major, minor
constexpr std::size_t kFirstRead = 512;     // holds nearly every header whole
constexpr std::size_t kNumpyLimit = 10000;  // characters that np.load reads without being told to
constexpr std::size_t kAlignment = 64;      // of the data, as NumPy has it since 1.14
constexpr std::size_t kGrowthDigits = 21;   // room for the axis that grows: digits of 8 * 2^64

std::size_t prefix_size(std::uint8_t major) { return kVersionEnd + (major == 1 ? 2 : 4); }

void read_shape(LiteralReader& in, Shape& shape) {
  if (!in.skip('(')) {
    in.fail("shape is not a tuple");
  }
  shape.clear();
  bool comma = true;
  while (!in.skip(')')) {
    if (!comma) {
      in.fail("',' or ')' expected");
    }
    if (shape.size() == kMaxDimensions) {
      in.fail("shape has more than ", kMaxDimensions, " dimensions");
    }
    shape.push_back(in.integer());
    comma = in.skip(',');
  }
  if (shape.size() == 1 && !comma) {
    in.fail("shape is not a tuple but a number in parentheses");
  }
}

// Which of the three keys were there; of a key that comes twice the last counts, as in Python.
struct KeysSeen {
  bool descr = false;
  bool fortran_order = false;
  bool shape = false;
};

void read_pair(LiteralReader& in, NpyHeader& header, KeysSeen& seen) {
  const std::string key = in.string();
  in.expect(':');
  if (key == "descr") {
    header.dtype = read_descr(in);
    seen.descr = true;
  } else if (key == "fortran_order") {
    header.fortran_order = in.boolean();
    seen.fortran_order = true;
  } else if (key == "shape") {
    read_shape(in, header.shape);
    seen.shape = true;
  } else {
    in.fail("the key is none of descr, fortran_order, shape,");
  }
}

void read_dictionary(LiteralReader& in, NpyHeader& header) {
  KeysSeen seen;
  in.expect('{');
  while (!in.skip('}')) {
    read_pair(in, header, seen);
    if (!in.skip(',')) {
      in.expect('}');
      break;
    }
  }
  in.end();
  if (!seen.descr || !seen.fortran_order || !seen.shape) {
    throw_corrupt("the header lacks ", !seen.descr   ? "'descr'"
                                       : !seen.shape ? "'shape'"
                                                     : "'fortran_order'");
  }
}

// What NumPy counts against its limit: the characters of the decoded text.
std::size_t characters(std::string_view text, std::uint8_t major) {
  if (major < 3 || text.size() <= kNumpyLimit) {
    return text.size();
  }
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

void add_notes(const LiteralReader& in, std::string_view text, NpyHeader& header) {
  if (const std::size_t count = characters(text, header.major); count > kNumpyLimit) {
    header.notes.push_back(text_of("needs_max_header_size ", count));
  }
  if (in.nul_count() > 0) {
    header.notes.push_back(
        text_of("nonstandard: header padded with ", in.nul_count(), " NUL bytes"));
  }
  if (in.saw_bytes_literal()) {
    header.notes.push_back("nonstandard: header has a bytes literal");
  }
  if (!header.dtype.numpy_loads) {
    header.notes.push_back("nonstandard: plain NumPy doesn't know the descr");
  }
  if (header.major == 3 && !is_utf8(text)) {
    header.notes.push_back("nonstandard: header isn't UTF-8");
  }
}

// `text` as Latin-1, or nullopt if it has other characters.
std::optional<std::string> latin1_of(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      out += text[i];
    } else if ((lead == 0xC2 || lead == 0xC3) && utf8_sequence_length(text.substr(i)) == 2) {
      ++i;
      out += static_cast<char>(lead << 6 | (static_cast<unsigned char>(text[i]) & 0x3F));
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// Prefix, text, blanks to the alignment and a newline; nullopt if the length doesn't fit in
// version 1.
std::optional<std::string> wrapped(std::string_view text, std::uint8_t major) {
  const std::size_t prefix = prefix_size(major);
  const std::size_t padding = kAlignment - (prefix + text.size() + 1) % kAlignment;
  const std::size_t length = text.size() + padding + 1;
  if (major == 1 && length > 0xFFFF) {
    return std::nullopt;
  }
  std::string out(kMagic);
  out += static_cast<char>(major);
  out += '\0';
  for (std::size_t i = 0; i < prefix - kVersionEnd; ++i) {
    out += static_cast<char>(length >> 8 * i & 0xFF);
  }
  out += text;
  out.append(padding, ' ');
  out += '\n';
  return out;
}

[[noreturn]] void throw_cut(std::uint64_t header_size, std::uint64_t there) {
  throw_corrupt("the header's ", header_size, " bytes run past the ", there, " there are",
                kFetchAgain);
}

}  // namespace

bool has_npy_magic(Bytes bytes) { return text_view(bytes).starts_with(kMagic); }

std::uint64_t npy_header_size(Bytes first_bytes) {
  if (!has_npy_magic(first_bytes)) {
    throw_corrupt("not a .npy image: it doesn't begin with \\x93NUMPY");
  }
  ByteReader in(first_bytes.subspan(kMagic.size()));
  if (in.remaining() < 4) {
    throw_corrupt("the .npy image ends after ", first_bytes.size(), " bytes, inside its header",
                  kFetchAgain);
  }
  const unsigned major = in.u8();
  const unsigned minor = in.u8();
  if (major < 1 || major > 3 || minor != 0) {
    throw_unsupported(
        ".npy version ", major, ".", minor,
        "; known are 1.0, 2.0 and 3.0: damaged, or written by a NumPy newer than npyfs");
  }
  if (major > 1 && in.remaining() < 4) {
    throw_corrupt("the .npy image ends after ", first_bytes.size(), " bytes, inside its header",
                  kFetchAgain);
  }
  const std::uint64_t length = major == 1 ? in.u16() : in.u32();
  if (length > kMaxNpyHeader) {
    throw_corrupt("header length ", length, " passes the limit of ", kMaxNpyHeader, " bytes",
                  kFetchAgain);
  }
  return prefix_size(static_cast<std::uint8_t>(major)) + length;
}

NpyHeader parse_npy_header(Bytes bytes) {
  const std::uint64_t size = npy_header_size(bytes.first(std::min(bytes.size(), kNpyPrefixSize)));
  if (size > bytes.size()) {
    throw_cut(size, bytes.size());
  }
  NpyHeader header;
  header.major = std::to_integer<std::uint8_t>(bytes[kMagic.size()]);
  header.data_offset = size;
  const std::size_t prefix = prefix_size(header.major);
  const std::string_view text = text_view(bytes.subspan(prefix, size - prefix));
  LiteralReader in(text, header.major == 3 ? TextEncoding::kUtf8 : TextEncoding::kLatin1, "header");
  try {
    read_dictionary(in, header);
    header.count = element_count(header.shape);
    header.nbytes = data_bytes(header.shape, header.dtype.itemsize);
  } catch (const Error& e) {
    throw Error(e.errno_value(), text_of(e.what(), kFetchAgain));
  }
  add_notes(in, text, header);
  return header;
}

NpyHeader read_npy_header(const Source& source) {
  std::array<std::byte, kFirstRead> buffer;
  const auto head = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), source.size()));
  source.read(0, head);
  return read_npy_header(source, head);
}

NpyHeader read_npy_header(const Source& source, Bytes head) {
  const std::uint64_t size = npy_header_size(head.first(std::min(head.size(), kNpyPrefixSize)));
  if (size <= head.size()) {
    return parse_npy_header(head);
  }
  if (size > source.size()) {
    throw_cut(size, source.size());
  }
  std::vector<std::byte> whole(size);
  std::ranges::copy(head, whole.begin());
  source.read(head.size(), std::span(whole).subspan(head.size()));
  return parse_npy_header(whole);
}

std::string write_npy_header(std::string_view descr_repr, ShapeView shape, bool fortran_order) {
  std::string text = "{'descr': ";
  text += descr_repr;
  text += fortran_order ? ", 'fortran_order': True" : ", 'fortran_order': False";
  text += ", 'shape': " + shape_text(shape) + ", }";
  if (!shape.empty()) {
    const std::string grows = std::to_string(fortran_order ? shape.back() : shape.front());
    text.append(kGrowthDigits - grows.size(), ' ');
  }
  if (text.size() > kMaxNpyHeader) {
    throw_corrupt("a header of ", text.size(), " bytes passes the limit of ", kMaxNpyHeader);
  }
  const auto latin1 = latin1_of(text);
  if (!latin1) {
    return *wrapped(text, 3);
  }
  const auto version1 = wrapped(*latin1, 1);
  return version1 ? *version1 : *wrapped(*latin1, 2);
}

}  // namespace npyfs
