// Values are made in runs of whole codes: straight into the reader's memory, or, where a read
// begins or ends within one, beside it. The loops have fixed lengths and no branches, which is what
// compilers vectorise at -O2. One-byte codes go through a table: arithmetic was three times slower.
#include "npyfs/source/widen.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "npyfs/base/error.h"
#include "npyfs/source/cancel.h"

namespace npyfs {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kFloat = sizeof(float);
// Bytes of codes that are read and decoded at once.
constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr std::size_t kBatch = 32;  // values of a vectorised loop

using Table = std::array<std::uint32_t, 256>;

// Neither `from` nor `to` needs to be aligned; they don't overlap.
template <std::size_t kCount, typename CodeType, typename Value>
void decode_batch(const std::byte* __restrict from, std::byte* __restrict to, Value value) {
  for (std::size_t i = 0; i < kCount; ++i) {
    CodeType code{};
    std::memcpy(&code, from + i * sizeof(code), sizeof(code));
    const auto result = value(code);
    std::memcpy(to + i * sizeof(result), &result, sizeof(result));
  }
}

// Reads `count` codes at `from` and writes the value of each to `to`.
template <typename CodeType, typename Value>
void decode_each(const std::byte* from, std::size_t count, std::byte* to, Value value) {
  constexpr std::size_t kResult = sizeof(value(CodeType{}));
  std::size_t i = 0;
  for (; i + kBatch <= count; i += kBatch) {
    decode_batch<kBatch, CodeType>(from + i * sizeof(CodeType), to + i * kResult, value);
  }
  for (; i < count; ++i) {
    decode_batch<1, CodeType>(from + i * sizeof(CodeType), to + i * kResult, value);
  }
}

std::uint16_t swapped(std::uint16_t code) {
  return static_cast<std::uint16_t>(code << 8 | code >> 8);
}

std::uint32_t from_bfloat16(std::uint16_t code) { return std::uint32_t{code} << 16; }

// The exponent is moved to float32's bias; a subnormal becomes a normal float by a subtraction that
// is exact.
std::uint32_t from_float16(std::uint16_t code) {
  constexpr std::uint32_t kExponent = 0x7C00U << 13;
  constexpr std::uint32_t kRebias = 112U << 23;
  constexpr std::uint32_t kOne = 1U << 23;
  const std::uint32_t sign = (code & 0x8000U) << 16;
  const std::uint32_t shifted = (code & 0x7FFFU) << 13;
  const std::uint32_t normal = shifted + kRebias;
  const std::uint32_t special = normal + kRebias;
  const float difference =
      std::bit_cast<float>(normal + kOne) - std::bit_cast<float>(kRebias + kOne);
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(difference);
  const std::uint32_t exponent = shifted & kExponent;
  const std::uint32_t finite = exponent == 0 ? subnormal : normal;
  return sign | (exponent == kExponent ? special : finite);
}

class Widen final : public Source {
 public:
  Widen(SourcePtr codes, Code code) : codes_(std::move(codes)), code_(code) {
    switch (code) {
      case Code::kBfloat16:
      case Code::kBfloat16Big:
      case Code::kFloat16:
      case Code::kFloat16Big:
        unit_ = {2, 1};
        break;
      case Code::kFloat4E2m1fnPacked:
        unit_ = {1, 2};
        table_ = widen_table(Code::kFloat4E2m1fn);
        break;
      case Code::kInt4Packed:
        unit_ = {1, 2};
        table_ = widen_table(Code::kInt4);
        break;
      case Code::kUint4Packed:
        unit_ = {1, 2};
        table_ = widen_table(Code::kUint4);
        break;
      default:
        unit_ = {1, 1};
        table_ = widen_table(code);
    }
    const auto size = checked_multiply(codes_->size() / unit_.codes, unit_.values * kFloat);
    if (codes_->size() % unit_.codes != 0 || !size || *size > INT64_MAX) {
      throw_corrupt(codes_->size(), " bytes don't make values of ", unit_.codes, " bytes each");
    }
    size_ = *size;
  }

  std::uint64_t size() const override { return size_; }

  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    if (dst.empty()) {
      return;
    }
    const std::size_t step = unit_.values * kFloat;  // bytes that a unit becomes
    const std::uint64_t first = offset / step;
    const std::uint64_t end = (offset + dst.size() - 1) / step + 1;
    const std::size_t most = kPiece / unit_.codes;
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(
        std::min<std::uint64_t>(end - first, most) * unit_.codes);
    std::size_t skip = offset % step;
    for (std::uint64_t unit = first; unit < end; unit += most) {
      throw_if_cancelled();
      const std::size_t units = std::min<std::uint64_t>(end - unit, most);
      const std::span<std::byte> codes(buffer.get(), units * unit_.codes);
      codes_->read(unit * unit_.codes, codes);
      dst = dst.subspan(write_units(codes, skip, dst));
      skip = 0;
    }
  }

  bool at_hand(std::uint64_t offset, std::uint64_t length) const override {
    if (length == 0) {
      return true;
    }
    const std::size_t step = unit_.values * kFloat;
    const std::uint64_t first = offset / step;
    const std::uint64_t end = (offset + length - 1) / step + 1;
    return codes_->at_hand(first * unit_.codes, (end - first) * unit_.codes);
  }

 private:
  // What is decoded together: so many bytes of codes, which make so many values.
  struct Unit {
    std::size_t codes = 1;
    std::size_t values = 1;
  };

  // Writes what the units in `codes` become, without the first `skip` bytes and as far as `dst`
  // goes; returns how many bytes that were.
  std::size_t write_units(std::span<const std::byte> codes, std::size_t skip,
                          std::span<std::byte> dst) const {
    const std::size_t step = unit_.values * kFloat;
    std::size_t done = 0;
    if (skip > 0) {
      done += write_part(codes.first(unit_.codes), skip, dst);
      codes = codes.subspan(unit_.codes);
    }
    const std::size_t whole = std::min(codes.size() / unit_.codes, (dst.size() - done) / step);
    decode(codes.first(whole * unit_.codes), dst.data() + done);
    done += whole * step;
    if (whole * unit_.codes < codes.size() && done < dst.size()) {
      done += write_part(codes.subspan(whole * unit_.codes, unit_.codes), 0, dst.subspan(done));
    }
    return done;
  }

  std::size_t write_part(std::span<const std::byte> unit, std::size_t skip,
                         std::span<std::byte> dst) const {
    std::array<std::byte, 2 * kFloat> whole{};
    decode(unit, whole.data());
    const std::size_t length = std::min(unit_.values * kFloat - skip, dst.size());
    std::memcpy(dst.data(), whole.data() + skip, length);
    return length;
  }

  void decode(std::span<const std::byte> codes, std::byte* to) const;

  SourcePtr codes_;
  Code code_;
  Unit unit_;
  std::uint64_t size_ = 0;
  Table table_{};
};

void Widen::decode(std::span<const std::byte> codes, std::byte* to) const {
  const std::size_t count = codes.size() / unit_.codes;
  const Table& table = table_;
  switch (code_) {
    case Code::kBfloat16:
      return decode_each<std::uint16_t>(codes.data(), count, to,
                                        [](std::uint16_t code) { return from_bfloat16(code); });
    case Code::kBfloat16Big:
      return decode_each<std::uint16_t>(
          codes.data(), count, to, [](std::uint16_t code) { return from_bfloat16(swapped(code)); });
    case Code::kFloat16:
      return decode_each<std::uint16_t>(codes.data(), count, to,
                                        [](std::uint16_t code) { return from_float16(code); });
    case Code::kFloat16Big:
      return decode_each<std::uint16_t>(
          codes.data(), count, to, [](std::uint16_t code) { return from_float16(swapped(code)); });
    case Code::kFloat4E2m1fnPacked:
    case Code::kInt4Packed:
    case Code::kUint4Packed:
      return decode_each<std::uint8_t>(codes.data(), count, to, [&](std::uint8_t code) {
        return std::uint64_t{table[code >> 4]} << 32 | table[code & 0xF];
      });
    default:
      return decode_each<std::uint8_t>(codes.data(), count, to,
                                       [&](std::uint8_t code) { return table[code]; });
  }
}

}  // namespace

SourcePtr widen(SourcePtr codes, Code code) {
  return std::make_shared<Widen>(std::move(codes), code);
}

}  // namespace npyfs
