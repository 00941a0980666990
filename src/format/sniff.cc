#include "npyfs/format/sniff.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "npyfs/base/error.h"
#include "npyfs/format/npy_header.h"

namespace npyfs {
namespace {

struct Magic {
  std::string_view bytes;
  std::string_view what;
};

constexpr std::array kMagics = {
    Magic{"\x1f\x8b", "a gzip file; decompress it first"},
    Magic{"\x28\xb5\x2f\xfd", "a zstd file; decompress it first"},
    Magic{"\xfd"
          "7zXZ",
          "an xz file; decompress it first"},
    Magic{"BZh", "a bzip2 file; decompress it first"},
    Magic{std::string_view("\x5d\0\0", 3), "an lzma file; decompress it first"},
    Magic{"\x78\x5e", "zlib-compressed data; decompress it first"},
    Magic{"\x78\x9c", "zlib-compressed data; decompress it first"},
    Magic{"\x78\xda", "zlib-compressed data; decompress it first"},
    Magic{"\x89HDF\r\n\x1a\n", "an HDF5 file, which npyfs doesn't read"},
    Magic{"GGUF", "a GGUF file, which npyfs doesn't read"},
    Magic{"%PDF", "a PDF document"},
    Magic{"\x89PNG", "a PNG picture"},
    Magic{"\x7f"
          "ELF",
          "a program"},
    Magic{"MATLAB 5.0", "a MATLAB file, which npyfs doesn't read"},
    Magic{"{", "JSON text"},
};

// The number after the line "size ", or "" if there is none.
std::string_view lfs_size(std::string_view text) {
  const std::size_t at = text.find("\nsize ");
  if (at == std::string_view::npos) {
    return {};
  }
  text.remove_prefix(at + 6);
  const auto end = std::ranges::find_if_not(text, [](char c) { return c >= '0' && c <= '9'; });
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

bool looks_like_html(std::string_view text) {
  std::string start;
  for (const char c : text.substr(0, 64)) {
    start += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  const std::string_view rest = std::string_view(start).substr(std::min(first, start.size()));
  return rest.starts_with("<!doctype html") || rest.starts_with("<html") ||
         rest.starts_with("<?xml") || rest.starts_with("<head");
}

// safetensors: the length of the JSON header, then the header.
bool looks_like_safetensors(Bytes head, std::uint64_t size) {
  if (head.size() < 9) {
    return false;
  }
  const std::uint64_t length = ByteReader(head).u64();
  return length <= size - 8 && text_view(head)[8] == '{';
}

std::string first_bytes(Bytes head) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte b : head.first(std::min<std::size_t>(head.size(), 8))) {
    const auto value = std::to_integer<unsigned>(b);
    out += out.empty() ? "" : " ";
    out += kDigits[value >> 4];
    out += kDigits[value & 15];
  }
  return out;
}

}  // namespace

bool has_zip_magic(Bytes head) {
  const std::string_view text = text_view(head);
  // A member, or the end of an empty archive, plain or zip64.
  return text.starts_with("PK\3\4") || text.starts_with("PK\5\6") || text.starts_with("PK\6\6");
}

bool has_pickle_magic(Bytes head) {
  const std::string_view text = text_view(head);
  return text.size() > 1 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5;
}

std::optional<std::string> recognise_bytes(Bytes head, std::uint64_t size) {
  const std::string_view text = text_view(head);
  if (size == 0) {
    return "an empty file; fetch or write it again";
  }
  if (text.starts_with("version https://git-lfs.github.com/spec/")) {
    const std::string_view bytes = lfs_size(text);
    return text_of("a git LFS pointer of ", size, " bytes; the real file has ",
                   bytes.empty() ? "?" : bytes, " bytes: fetch it with 'git lfs pull'");
  }
  if (looks_like_html(text)) {
    return "an HTML page, most likely an error of the server it came from; fetch it again";
  }
  if (has_npy_magic(head)) {
    return "a .npy image";
  }
  if (has_zip_magic(head)) {
    return "a zip archive";
  }
  for (const Magic& magic : kMagics) {
    if (text.starts_with(magic.bytes)) {
      return std::string(magic.what);
    }
  }
  if (looks_like_safetensors(head, size)) {
    return "a safetensors file, which this version of npyfs doesn't read";
  }
  if (has_pickle_magic(head)) {
    return "a pickle; named .pkl, it is searched for arrays";
  }
  if (std::ranges::all_of(text, [](char c) { return c == '\0'; })) {
    return "zero bytes; its content was never written";
  }
  return std::nullopt;
}

std::string describe_no_image(Bytes head, std::uint64_t size) {
  const auto known = recognise_bytes(head, size);
  return known ? *known
               : describe_bytes(head, size) +
                     "; raw numbers need a sidecar NAME_meta.json with shape and dtype";
}

std::string describe_bytes(Bytes head, std::uint64_t size) {
  const auto known = recognise_bytes(head, size);
  return known ? *known : "data that begins with the bytes " + first_bytes(head);
}

}  // namespace npyfs
