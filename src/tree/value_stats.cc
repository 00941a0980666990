#include "npyfs/tree/value_stats.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <variant>

#include "tree/value_decoder.h"
#include "tree/value_tally.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{256} << 10;
constexpr std::uint64_t kMostCodeBytes = 2;  // of the types whose codes are counted

using BytesDone = std::function<void(std::uint64_t)>;

bool is_coded(const ArrayInfo& info) { return info.dtype.itemsize <= kMostCodeBytes; }

bool is_element(const ArrayInfo& info) { return info.dtype.kind == DtypeKind::kElement; }

bool has_integers(const Dtype& dtype) {
  switch (dtype.kind) {
    case DtypeKind::kBool:
    case DtypeKind::kInt:
    case DtypeKind::kUint:
    case DtypeKind::kDatetime:
    case DtypeKind::kTimedelta:
      return true;
    case DtypeKind::kElement:
      return dtype.element >= ElementType::kInt1 && dtype.element <= ElementType::kUint4;
    default:
      return false;
  }
}

// The bits of a code that mean something.
std::uint16_t code_mask(const Dtype& dtype) {
  if (dtype.kind == DtypeKind::kElement) {
    switch (dtype.element) {
      case ElementType::kInt1:
      case ElementType::kUint1:
        return 0x01;
      case ElementType::kInt2:
      case ElementType::kUint2:
        return 0x03;
      case ElementType::kInt4:
      case ElementType::kUint4:
      case ElementType::kFloat4E2m1fn:
        return 0x0F;
      case ElementType::kFloat6E2m3fn:
      case ElementType::kFloat6E3m2fn:
        return 0x3F;
      default:
        break;
    }
  }
  return 0xFFFF;
}

// Numbers one after another in a Source.
struct Numbers {
  SourcePtr source;
  std::uint64_t begin = 0;  // of the first
  std::uint64_t width = 0;  // bytes each
  bool big_endian = false;
};

Numbers numbers_of_view(const Views& views, ItemId array) {
  const ArrayInfo& info = views.catalog().info(array);
  const View view = value_view(info).value_or(View::kF32view);
  const std::uint64_t width = view == View::kC64view ? 8 : 4;
  return {views.open(array, view), views.size(array, view) - info.count * width, width, false};
}

Numbers numbers_of_data(const Views& views, ItemId array) {
  const Dtype& dtype = views.catalog().info(array).dtype;
  return {views.data(array), 0, dtype.itemsize, dtype.order == ByteOrder::kBig};
}

// Calls use(number of the piece's first element, its bytes) on all of `numbers`.
template <typename Use>
void for_each_piece(const Numbers& numbers, const BytesDone& done, Use use) {
  const std::uint64_t size = numbers.source->size();
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(size - numbers.begin, kPiece)));
  for (std::uint64_t at = numbers.begin; at < size;) {
    const auto piece = std::span(buffer).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(size - at, buffer.size())));
    numbers.source->read(at, piece);
    use((at - numbers.begin) / numbers.width, Bytes(piece));
    at += piece.size();
    done(piece.size());
  }
}

template <typename Real>
ValueStats in_two_passes(const Numbers& numbers, Decode<Real> decode, bool integers,
                         const BytesDone& done) {
  std::vector<Real> values(kPiece / numbers.width);
  const auto decoded = [&](Bytes piece) {
    const auto some = std::span(values).first(piece.size() / numbers.width);
    decode(piece, numbers.big_endian, some);
    return std::span<const Real>(some);
  };
  ValueTally tally;
  for_each_piece(numbers, done, [&](std::uint64_t, Bytes piece) { tally.add(decoded(piece)); });
  ValueStats stats = tally.stats();
  if (stats.finite > 0) {
    Bins bins(stats, integers);
    for_each_piece(numbers, done, [&](std::uint64_t, Bytes piece) { bins.add(decoded(piece)); });
    stats.histogram = std::move(bins).take();
  }
  return stats;
}

struct CodeCount {
  std::uint64_t times = 0;
  double value = 0;
};

std::uint16_t code_at(const std::byte* at, const Numbers& numbers) {
  const auto first = std::to_integer<std::uint16_t>(at[0]);
  if (numbers.width == 1) {
    return first;
  }
  const auto second = std::to_integer<std::uint16_t>(at[1]);
  return static_cast<std::uint16_t>(numbers.big_endian ? first << 8 | second : second << 8 | first);
}

// How often each code occurs, and its value: `value_of` is asked, by number and bytes, for the
// first element that has it, whose bytes are at hand then.
template <typename ValueOf>
std::vector<CodeCount> count_codes(const Numbers& numbers, std::uint16_t mask,
                                   const BytesDone& done, ValueOf value_of) {
  std::vector<CodeCount> codes(std::size_t{1} << (8 * numbers.width));
  for_each_piece(numbers, done, [&](std::uint64_t element, Bytes piece) {
    for (std::size_t at = 0; at < piece.size(); at += numbers.width) {
      CodeCount& code = codes[code_at(piece.data() + at, numbers) & mask];
      if (code.times++ == 0) {
        code.value = value_of(element + at / numbers.width, piece.subspan(at, numbers.width));
      }
    }
  });
  return codes;
}

ValueStats stats_of_codes(const std::vector<CodeCount>& codes, bool integers) {
  ValueTally tally;
  std::uint64_t distinct = 0;
  for (const CodeCount& code : codes) {
    if (code.times > 0) {
      tally.add(code.value, code.times);
      ++distinct;
    }
  }
  ValueStats stats = tally.stats();
  stats.distinct = distinct;
  if (stats.finite > 0) {
    Bins bins(stats, integers);
    for (const CodeCount& code : codes) {
      if (code.times > 0 && std::isfinite(code.value)) {
        bins.add(code.value, code.times);
      }
    }
    stats.histogram = std::move(bins).take();
  }
  return stats;
}

ValueStats in_one_pass(const Views& views, ItemId array, const BytesDone& done) {
  const ArrayInfo& info = views.catalog().info(array);
  const Numbers numbers = numbers_of_data(views, array);
  const std::uint16_t mask = code_mask(info.dtype);
  const bool integers = has_integers(info.dtype);
  if (!is_element(info)) {
    const auto decode = std::get<Decode<double>>(decode_of(info.dtype));
    return stats_of_codes(count_codes(numbers, mask, done,
                                      [&](std::uint64_t, Bytes bytes) {
                                        double value = 0;
                                        decode(bytes, numbers.big_endian, std::span(&value, 1));
                                        return value;
                                      }),
                          integers);
  }
  const Numbers decoded = numbers_of_view(views, array);
  return stats_of_codes(count_codes(numbers, mask, done,
                                    [&](std::uint64_t element, Bytes) {
                                      float value = 0;
                                      decoded.source->read(
                                          decoded.begin + element * decoded.width,
                                          std::as_writable_bytes(std::span(&value, 1)));
                                      return static_cast<double>(value);
                                    }),
                        integers);
}

}  // namespace

std::optional<std::string> why_no_stats(const ArrayInfo& info) {
  if (!info.known || info.damaged) {
    return "the array is damaged";
  }
  if (info.pickled) {
    return "the elements are pickled objects, not numbers";
  }
  if (info.dtype.kind == DtypeKind::kStruct) {
    return "the elements are structures, not numbers";
  }
  if (!candidates(info.dtype).empty() && !is_element(info)) {
    return "the header leaves the type open; settle it with --dtype";
  }
  const bool is_number = is_element(info)
                             ? value_view(info).has_value()
                             : !std::holds_alternative<std::monostate>(decode_of(info.dtype));
  if (!is_number) {
    return "the elements are not numbers";
  }
  return std::nullopt;
}

std::uint64_t value_stats_bytes(const ArrayInfo& info) {
  if (is_coded(info)) {
    return info.nbytes;
  }
  constexpr std::uint64_t kComplex64 = 8;
  const std::uint64_t pass = is_element(info) ? info.count * kComplex64 : info.nbytes;
  return checked_multiply(pass, 2).value_or(pass);
}

ValueStats value_stats(const Views& views, ItemId array,
                       const std::function<void(std::uint64_t)>& done) {
  const ArrayInfo& info = views.catalog().info(array);
  assert(!why_no_stats(info));
  if (is_coded(info)) {
    return in_one_pass(views, array, done);
  }
  if (is_element(info)) {
    return in_two_passes(numbers_of_view(views, array), decode_complex64(), false, done);
  }
  const Numbers numbers = numbers_of_data(views, array);
  const bool integers = has_integers(info.dtype);
  const AnyDecode decode = decode_of(info.dtype);
  if (const auto* narrow = std::get_if<Decode<double>>(&decode)) {
    return in_two_passes(numbers, *narrow, integers, done);
  }
  return in_two_passes(numbers, std::get<Decode<long double>>(decode), integers, done);
}

}  // namespace npyfs
