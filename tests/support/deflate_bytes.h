// Raw deflate streams made by zlib, and bytes worth compressing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include <zlib.h>

#include "npyfs/base/bytes.h"

namespace npyfs {

struct DeflateOptions {
  int level = 6;
  int strategy = Z_DEFAULT_STRATEGY;
  int memory_level = 8;
};

inline std::vector<std::byte> deflate_bytes(Bytes plain, const DeflateOptions& options = {}) {
  z_stream stream{};
  if (deflateInit2(&stream, options.level, Z_DEFLATED, -MAX_WBITS, options.memory_level,
                   options.strategy) != Z_OK) {
    throw std::runtime_error("deflateInit2 failed");
  }
  std::vector<std::byte> compressed(deflateBound(&stream, plain.size()) + 64);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  const int result = deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) {
    throw std::runtime_error("deflate didn't finish");
  }
  return compressed;
}

inline std::uint32_t crc32_of(Bytes bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Float32 values with 8 bits of mantissa, as weights that were bfloat16 once: half their size
// deflated.
inline std::vector<std::byte> weight_bytes(std::size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 0.02F);
  std::vector<std::uint32_t> values(4096);  // drawing each anew would take longer than deflating it
  for (std::uint32_t& bits : values) {
    const float value = normal(random);
    std::memcpy(&bits, &value, sizeof bits);
    bits &= 0xFFFF0000;
  }
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < size; at += sizeof(float)) {
    std::memcpy(&bytes[at], &values[random() % values.size()], std::min(sizeof(float), size - at));
  }
  return bytes;
}

// Noise: deflate stores it.
inline std::vector<std::byte> noise_bytes(std::size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < size; at += sizeof(std::uint32_t)) {
    const auto word = static_cast<std::uint32_t>(random());
    std::memcpy(&bytes[at], &word, std::min(sizeof word, size - at));
  }
  return bytes;
}

// Zeros with a value here and there.
inline std::vector<std::byte> sparse_bytes(std::size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < size; at += 1 + random() % 400) {
    bytes[at] = static_cast<std::byte>(random());
  }
  return bytes;
}

}  // namespace npyfs
