// Not looked at, since no value of them leads anywhere: read_in (bits of input: they choose among
// table entries that were all looked at), bfinal (a flag), the contents of tmp_in_buffer (a block
// header as far as it was read, parsed like any input) and of tmp_out_buffer (output), crc,
// hist_bits and wrapper_flag (raw deflate uses none), and the tables while no block is being
// decoded: the next block's header makes them anew.
#include "source/inflate_check.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace npyfs {
namespace {

constexpr std::int32_t kHistory = ISAL_DEF_HIST_SIZE;
constexpr std::uint32_t kMostLiteralOrLength = 512;  // 254 + the longest match
constexpr std::uint32_t kDistances = ISAL_DEF_DIST_SYMBOLS;

// Entries of the tables as ISA-L 2.30 and 2.32 write them. An entry for more bits than the short
// table is indexed by leads to a group in the long table, as many entries as the bits beyond can
// choose from. One of no bits is no symbol; of a distance it has no extra bits either, which ISA-L
// would shift by all the same. Another version's tables look wrong here, which costs a decode from
// further back.
struct Group {
  std::uint32_t first;
  std::uint32_t bits;  // of the longest code in it
};

template <typename Entry>
bool is_sound_group(std::span<const Entry> entries, const Group& group, std::uint32_t short_bits,
                    std::uint32_t most_bits, bool (*is_sound)(std::uint32_t entry)) {
  if (group.bits <= short_bits || group.bits > most_bits) {
    return false;
  }
  const std::size_t count = std::size_t{1} << (group.bits - short_bits);
  return count <= entries.size() && group.first <= entries.size() - count &&
         std::ranges::all_of(entries.subspan(group.first, count),
                             [&](Entry entry) { return is_sound(entry); });
}

// Long: the symbol in 10 bits, the length of its code above. Codes with the bits that extend a
// match's length take up to 21.
bool is_sound_long_literal(std::uint32_t entry) {
  const std::uint32_t bits = entry >> 10;
  return bits == 0 || (bits <= 21 && (entry & 0x3ff) <= kMostLiteralOrLength);
}

// Short: up to three symbols of 8 bits each, of which the last may take more, in 25 bits; whether
// it leads to a group; how many symbols; the bits they take together. Or a group: where it begins
// in 25 bits, the flag, and its longest code.
bool are_sound_literals(const inflate_huff_code_large& code) {
  return std::ranges::all_of(code.short_code_lookup, [&](std::uint32_t entry) {
    if ((entry >> 25 & 1) != 0) {
      return is_sound_group(std::span<const std::uint16_t>(code.long_code_lookup),
                            {entry & 0x1ffffff, entry >> 26}, ISAL_DECODE_LONG_BITS, 21,
                            is_sound_long_literal);
    }
    const std::uint32_t count = entry >> 26 & 3;
    const std::uint32_t bits = entry >> 28;
    return bits == 0 || (bits <= ISAL_DECODE_LONG_BITS && count > 0 &&
                         (entry & 0x1ffffff) >> 8 * (count - 1) <= kMostLiteralOrLength);
  });
}

// How many more bits follow a distance symbol, RFC 1951 3.2.5.
bool is_sound_distance(std::uint32_t symbol, std::uint32_t extra_bits) {
  return symbol < kDistances && extra_bits == (symbol < 2 ? 0 : symbol / 2 - 1);
}

bool is_sound_long_distance(std::uint32_t entry) {
  const std::uint32_t bits = entry >> 10;
  return bits == 0 ? entry < kDistances
                   : bits <= 15 && is_sound_distance(entry & 31, entry >> 5 & 15);
}

bool are_sound_distances(const inflate_huff_code_small& code) {
  return std::ranges::all_of(code.short_code_lookup, [&](std::uint32_t entry) {
    if ((entry >> 10 & 1) != 0) {
      return is_sound_group(std::span<const std::uint16_t>(code.long_code_lookup),
                            {entry & 0x1ff, entry >> 11}, ISAL_DECODE_SHORT_BITS, 15,
                            is_sound_long_distance);
    }
    const std::uint32_t bits = entry >> 11;
    return bits == 0
               ? entry < kDistances
               : bits <= ISAL_DECODE_SHORT_BITS && is_sound_distance(entry & 31, entry >> 5 & 15);
  });
}

// Matches reach back up to 32 KiB: that much must be there, or all there was. And beyond it there
// is nothing but what is still to be handed out.
bool has_its_history(const inflate_state& state, std::uint64_t position) {
  const std::int32_t valid = state.tmp_out_valid;
  const std::int32_t handed_out = state.tmp_out_processed;
  if (valid < 0 || valid > static_cast<std::int32_t>(sizeof state.tmp_out_buffer) ||
      handed_out < 0 || handed_out > valid) {
    return false;
  }
  return valid < kHistory ? position == static_cast<std::uint64_t>(handed_out)
                          : valid == kHistory || handed_out == 0;
}

}  // namespace

bool is_safe_state(const inflate_state& state, std::uint64_t position) {
  // Nothing is left over between two calls.
  if (state.write_overflow_len != 0 || state.copy_overflow_length != 0 ||
      state.read_in_length < 0 || state.read_in_length > 64 || !has_its_history(state, position)) {
    return false;
  }
  // The enumeration may hold a value that isn't one of it, and must not be read as one then.
  std::uint32_t block_state = 0;
  static_assert(sizeof block_state == sizeof state.block_state);
  std::memcpy(&block_state, &state.block_state, sizeof block_state);
  // Any block header fits in the buffer, so a part of one leaves room for the rest.
  const bool in_header = block_state == ISAL_BLOCK_HDR;
  if (state.tmp_in_size < 0 || state.tmp_in_size > (in_header ? ISAL_DEF_MAX_HDR_SIZE : 0)) {
    return false;
  }
  switch (block_state) {
    case ISAL_BLOCK_NEW_HDR:
    case ISAL_BLOCK_HDR:
    case ISAL_BLOCK_INPUT_DONE:
    case ISAL_BLOCK_FINISH:
      return true;
    case ISAL_BLOCK_TYPE0:
      return state.type0_block_len >= 0 && state.type0_block_len <= 0xffff;
    case ISAL_BLOCK_CODED:
      return are_sound_literals(state.lit_huff_code) && are_sound_distances(state.dist_huff_code);
    default:  // of gzip and zlib
      return false;
  }
}

}  // namespace npyfs
