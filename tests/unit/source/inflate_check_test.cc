#include "source/inflate_check.h"

#include <cstddef>
#include <cstring>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "npyfs/source/compose.h"
#include "npyfs/source/inflate.h"

#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

constexpr std::size_t kHead = 16;  // what stands before the state in an image

// A state in the middle of a block with codes of every length.
class InflateCheckTest : public testing::Test {
 protected:
  InflateCheckTest() {
    const auto plain = weight_bytes(1000000);
    codec_ = inflate_codec(memory(deflate_bytes(plain)));
    const auto cursor = codec_->start();
    std::vector<std::byte> out(500000);
    cursor->produce(out);
    point_ = *cursor->save();
    std::memcpy(static_cast<void*>(&state_), &point_.state[kHead],
                offsetof(inflate_state, tmp_out_buffer));
    // `save` leaves these as they were before it dropped the front of the window.
    std::uint32_t dropped = 0;
    std::memcpy(&dropped, &point_.state[8], sizeof dropped);
    state_.tmp_out_valid -= static_cast<std::int32_t>(dropped);
    state_.tmp_out_processed -= static_cast<std::int32_t>(dropped);
  }

  bool is_safe(const std::function<void(inflate_state&)>& change) const {
    const auto changed = std::make_unique<inflate_state>(state_);
    change(*changed);
    return is_safe_state(*changed, point_.position);
  }

  std::unique_ptr<Codec> codec_;
  RestartPoint point_;
  inflate_state state_{};
};

TEST_F(InflateCheckTest, AStateAsItWasSavedIsSafe) {
  ASSERT_EQ(state_.block_state, ISAL_BLOCK_CODED);
  EXPECT_TRUE(is_safe([](inflate_state&) {}));
}

TEST_F(InflateCheckTest, LengthsStayWithinTheirBuffers) {
  EXPECT_FALSE(is_safe([](auto& s) { s.read_in_length = -1; }));
  EXPECT_FALSE(is_safe([](auto& s) { s.read_in_length = 65; }));
  EXPECT_FALSE(is_safe([](auto& s) { s.write_overflow_len = 1; }));
  EXPECT_FALSE(is_safe([](auto& s) { s.copy_overflow_length = 1; }));
  EXPECT_FALSE(is_safe([](auto& s) { s.tmp_in_size = 1; })) << "not in a header";
  EXPECT_FALSE(is_safe([](auto& s) { s.tmp_out_valid = -1; }));
  EXPECT_FALSE(is_safe([](auto& s) { s.tmp_out_valid = INT32_MAX; }));
  EXPECT_FALSE(is_safe([](auto& s) { s.tmp_out_processed = -1; }));
  EXPECT_FALSE(is_safe([](auto& s) { s.tmp_out_processed = s.tmp_out_valid + 1; }));
}

TEST_F(InflateCheckTest, APartOfAHeaderFitsInItsBuffer) {
  const auto in_header = [](std::int16_t size) {
    return [size](inflate_state& s) {
      s.block_state = ISAL_BLOCK_HDR;
      s.tmp_in_size = size;
    };
  };
  EXPECT_TRUE(is_safe(in_header(0)));
  EXPECT_TRUE(is_safe(in_header(ISAL_DEF_MAX_HDR_SIZE)));
  EXPECT_FALSE(is_safe(in_header(ISAL_DEF_MAX_HDR_SIZE + 1)));
  EXPECT_FALSE(is_safe(in_header(-1)));
}

TEST_F(InflateCheckTest, AStoredBlockIsNoLongerThanTheFormatHasIt) {
  const auto stored = [](std::int32_t length) {
    return [length](inflate_state& s) {
      s.block_state = ISAL_BLOCK_TYPE0;
      s.type0_block_len = length;
    };
  };
  EXPECT_TRUE(is_safe(stored(65535)));
  EXPECT_FALSE(is_safe(stored(65536)));
  EXPECT_FALSE(is_safe(stored(-1)));
}

TEST_F(InflateCheckTest, TheWindowIsWhole) {
  EXPECT_FALSE(is_safe([](auto& s) { s.tmp_out_valid = s.tmp_out_processed = 32767; }));
  EXPECT_FALSE(is_safe([](auto& s) {
    s.tmp_out_valid = 40000;
    s.tmp_out_processed = 1;
  })) << "fewer than 32 KiB of it would be in front of a direct decode";
}

TEST_F(InflateCheckTest, BlocksAreOfKindsThatRawDeflateHas) {
  for (const int kind : {-1, int{ISAL_GZIP_EXTRA_LEN}, int{ISAL_CHECKSUM_CHECK}, 99}) {
    EXPECT_FALSE(is_safe([kind](auto& s) {
      std::memcpy(&s.block_state, &kind, sizeof kind);  // what a file may hold, the type can't
    })) << kind;
  }
}

// As resume() sees it: tables of which one entry is random.
TEST_F(InflateCheckTest, EntriesOfTablesLeadNowhereElse) {
  const std::uint32_t group_far = 1U << 25 | 14U << 26 | 1263;
  EXPECT_FALSE(is_safe([&](auto& s) { s.lit_huff_code.short_code_lookup[7] = group_far; }));
  EXPECT_FALSE(
      is_safe([](auto& s) { s.lit_huff_code.short_code_lookup[7] = 1U << 25 | 63U << 26; }));
  EXPECT_FALSE(
      is_safe([](auto& s) { s.lit_huff_code.short_code_lookup[7] = 1U << 25 | 12U << 26; }));
  EXPECT_FALSE(
      is_safe([](auto& s) { s.lit_huff_code.short_code_lookup[7] = 513 | 1U << 26 | 9U << 28; }));
  EXPECT_FALSE(is_safe(
      [](auto& s) { s.lit_huff_code.short_code_lookup[7] = 513U << 8 | 2U << 26 | 9U << 28; }));
  EXPECT_TRUE(
      is_safe([](auto& s) { s.lit_huff_code.short_code_lookup[7] = 512 | 1U << 26 | 9U << 28; }));
  EXPECT_FALSE(is_safe([](auto& s) { s.dist_huff_code.short_code_lookup[7] = 30 | 5 << 11; }));
  EXPECT_FALSE(
      is_safe([](auto& s) { s.dist_huff_code.short_code_lookup[7] = 1 << 10 | 31 << 11; }));
  EXPECT_FALSE(
      is_safe([](auto& s) { s.dist_huff_code.short_code_lookup[7] = 79 | 1 << 10 | 11 << 11; }));
  EXPECT_FALSE(is_safe([](auto& s) {
    s.dist_huff_code.short_code_lookup[7] = 4 | 15 << 5 | 5 << 11;
  })) << "more bits than the symbol has";
}

// Whatever passes, decodes, to whatever bytes, or fails as damaged data does.
TEST_F(InflateCheckTest, ARandomlyChangedStateIsRefusedOrDecodes) {
  std::mt19937 random(5);
  std::vector<std::byte> out(300000);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    RestartPoint changed = point_;
    const std::size_t reach = i % 2 == 0 ? changed.state.size() : 400;
    const std::size_t at = i % 4 == 1 ? kHead + offsetof(inflate_state, block_state) : 0;
    changed.state[at + random() % std::min(reach, changed.state.size() - at)] =
        static_cast<std::byte>(random());
    try {
      codec_->resume(changed)->produce(out);
    } catch (const Damage&) {
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace npyfs
