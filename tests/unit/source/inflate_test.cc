#include "npyfs/source/inflate.h"

#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/source/compose.h"

#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Sample {
  std::string name;
  std::vector<std::byte> plain;
  std::vector<std::byte> compressed;
};

// Every kind of deflate block: stored, fixed codes, dynamic codes, runs, matches across 32 KiB.
std::vector<Sample> samples() {
  const std::size_t size = 400000;
  const std::vector<std::pair<std::string, std::vector<std::byte>>> plains = {
      {"weights", weight_bytes(size)}, {"noise", noise_bytes(size)},
      {"sparse", sparse_bytes(size)},  {"zeros", std::vector<std::byte>(size)},
      {"one byte", noise_bytes(1)},    {"nothing", {}}};
  std::vector<Sample> made;
  for (const auto& [name, plain] : plains) {
    made.push_back({name + ", level 6", plain, deflate_bytes(plain)});
    made.push_back({name + ", stored", plain, deflate_bytes(plain, {.level = 0})});
    made.push_back({name + ", fixed", plain, deflate_bytes(plain, {.strategy = Z_FIXED})});
    made.push_back({name + ", rle, small blocks", plain,
                    deflate_bytes(plain, {.level = 1, .strategy = Z_RLE, .memory_level = 1})});
    made.push_back({name + ", huffman", plain, deflate_bytes(plain, {.strategy = Z_HUFFMAN_ONLY})});
  }
  return made;
}

std::vector<std::byte> produce(Cursor& cursor, std::size_t count) {
  std::vector<std::byte> bytes(count);
  cursor.produce(bytes);
  return bytes;
}

TEST(InflateTest, DecodesEveryKindOfBlockInPiecesOfAnySize) {
  std::mt19937 random(3);
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    const auto cursor = inflate_codec(memory(sample.compressed))->start();
    std::vector<std::byte> got;
    while (got.size() < sample.plain.size()) {
      const std::size_t piece =
          std::min<std::size_t>(1 + random() % 300000, sample.plain.size() - got.size());
      const std::vector<std::byte> bytes = produce(*cursor, piece);
      got.insert(got.end(), bytes.begin(), bytes.end());
      ASSERT_EQ(cursor->position(), got.size());
    }
    EXPECT_TRUE(got == sample.plain);
    EXPECT_NO_THROW(cursor->finish());
  }
}

TEST(InflateTest, GoesOnFromARestartPointAnywhere) {
  std::mt19937 random(4);
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    const auto codec = inflate_codec(memory(sample.compressed));
    std::vector<std::unique_ptr<RestartPoint>> points;
    const auto cursor = codec->start();
    points.push_back(cursor->save());
    while (cursor->position() < sample.plain.size()) {
      const std::uint64_t rest = sample.plain.size() - cursor->position();
      produce(*cursor, std::min<std::uint64_t>(1 + random() % 100000, rest));
      points.push_back(cursor->save());
    }
    for (const auto& point : points) {
      ASSERT_NE(point, nullptr);
      ASSERT_LE(point->state.size(), 100000U);
      const auto resumed = codec->resume(*point);
      ASSERT_EQ(resumed->position(), point->position);
      const std::size_t rest = sample.plain.size() - point->position;
      const std::size_t piece = std::min<std::size_t>(rest, 1 + random() % 200000);
      ASSERT_TRUE(std::ranges::equal(produce(*resumed, piece),
                                     Bytes(sample.plain).subspan(point->position, piece)));
      produce(*resumed, rest - piece);
      ASSERT_NO_THROW(resumed->finish());
    }
  }
}

TEST(InflateTest, ARestartPointTakesAboutFiftyFourKilobytes) {
  const auto compressed = deflate_bytes(weight_bytes(std::size_t{4} << 20));
  const auto cursor = inflate_codec(memory(compressed))->start();
  produce(*cursor, std::size_t{2} << 20);
  EXPECT_LT(cursor->save()->state.size(), 56000U);
}

TEST(InflateTest, RestartPointsOfAResumedCursorAreAsGood) {
  const auto plain = weight_bytes(std::size_t{3} << 20);
  const auto codec = inflate_codec(memory(deflate_bytes(plain)));
  std::unique_ptr<RestartPoint> point = codec->start()->save();
  for (std::size_t position = 0; position < plain.size(); position += 65536) {
    const auto cursor = codec->resume(*point);
    const auto bytes = produce(*cursor, 65536);
    ASSERT_TRUE(std::ranges::equal(bytes, Bytes(plain).subspan(position, 65536))) << position;
    point = cursor->save();
  }
}

TEST(InflateTest, ARestartPointThatContradictsItselfIsRefused) {
  const auto plain = weight_bytes(100000);
  const auto codec = inflate_codec(memory(deflate_bytes(plain)));
  const auto cursor = codec->start();
  produce(*cursor, 50000);
  const RestartPoint good = *cursor->save();
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, good.state.size() - 1}) {
    RestartPoint cut = good;
    cut.state.resize(size);
    EXPECT_THROW(codec->resume(cut), Error) << size;
  }
  RestartPoint far = good;
  far.state[7] = std::byte{0x7F};  // the input offset
  EXPECT_THROW(codec->resume(far), Error);
  RestartPoint dropped = good;
  dropped.state[11] = std::byte{0xFF};
  EXPECT_THROW(codec->resume(dropped), Error);
}

TEST(InflateTest, AStreamThatEndsEarlyIsDamaged) {
  const auto plain = weight_bytes(100000);
  const auto cursor = inflate_codec(memory(deflate_bytes(plain)))->start();
  std::vector<std::byte> more(100001);
  EXPECT_THAT([&] { cursor->produce(more); },
              ThrowsMessage<Damage>(HasSubstr("ends after 100000 bytes")));
  EXPECT_EQ(cursor->position(), 100000U);
}

TEST(InflateTest, AStreamThatGoesOnIsDamaged) {
  const auto plain = weight_bytes(100000);
  const auto cursor = inflate_codec(memory(deflate_bytes(plain)))->start();
  produce(*cursor, 99999);
  EXPECT_THAT([&] { cursor->finish(); },
              ThrowsMessage<Damage>(HasSubstr("goes on past the declared 99999 bytes")));
}

TEST(InflateTest, ACutStreamGivesWhatIsThereAndThenFails) {
  const auto plain = weight_bytes(300000);
  auto compressed = deflate_bytes(plain);
  compressed.resize(compressed.size() / 2);
  const auto cursor = inflate_codec(memory(compressed))->start();
  std::vector<std::byte> bytes(plain.size());
  EXPECT_THAT([&] { cursor->produce(bytes); }, ThrowsMessage<Damage>(HasSubstr("is cut off")));
  const auto came = cursor->position();
  EXPECT_GT(came, plain.size() / 3);
  EXPECT_TRUE(std::ranges::equal(Bytes(bytes).first(came), Bytes(plain).first(came)));
  EXPECT_THROW(cursor->finish(), Damage);
}

TEST(InflateTest, NoInputAtAllIsACutStream) {
  const auto cursor = inflate_codec(memory(std::vector<std::byte>()))->start();
  std::vector<std::byte> byte(1);
  EXPECT_THROW(cursor->produce(byte), Damage);
  EXPECT_THROW(inflate_codec(memory(std::vector<std::byte>()))->start()->finish(), Damage);
}

TEST(InflateTest, DamageIsReachedByteByByteThroughSoundBytesOnly) {
  const auto plain = weight_bytes(50000);
  const auto compressed =
      deflate_bytes(plain, {.level = 0});  // stored: the place of damage is known
  auto damaged = compressed;
  damaged[0] = std::byte{0};           // not the last block after all
  damaged.push_back(std::byte{0x07});  // and then a block of the kind that doesn't exist
  const auto cursor = inflate_codec(memory(damaged))->start();
  std::vector<std::byte> got;
  std::byte byte{};
  EXPECT_THAT(
      [&] {
        while (true) {
          cursor->produce({&byte, 1});
          got.push_back(byte);
        }
      },
      ThrowsMessage<Damage>(HasSubstr("is damaged after")));
  EXPECT_TRUE(std::ranges::equal(got, Bytes(plain).first(got.size())));
  EXPECT_GE(got.size(), 32768U);
}

// What zlib makes of a stream up to where it refuses it, and whether it does so for a match that
// reaches back before the front.
struct Refused {
  std::vector<std::byte> sound;
  bool is_match = false;
};

Refused refused_by_zlib(std::vector<std::byte> compressed) {
  Refused result;
  result.sound.resize(std::size_t{1} << 16);
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, -MAX_WBITS), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.sound.data());
  stream.avail_out = static_cast<uInt>(result.sound.size());
  inflate(&stream, Z_FINISH);
  result.is_match = std::string_view(stream.msg == nullptr ? "" : stream.msg).ends_with("far back");
  result.sound.resize(stream.total_out);
  inflateEnd(&stream);
  return result;
}

std::vector<std::byte> all_that_comes(Cursor& cursor, std::size_t piece, std::size_t most) {
  std::vector<std::byte> got;
  std::vector<std::byte> bytes(piece);
  try {
    while (got.size() < most) {
      const std::uint64_t before = cursor.position();
      try {
        cursor.produce(bytes);
      } catch (const Damage&) {
        got.insert(got.end(), bytes.begin(),
                   bytes.begin() + static_cast<std::ptrdiff_t>(cursor.position() - before));
        throw;
      }
      got.insert(got.end(), bytes.begin(), bytes.end());
    }
  } catch (const Damage&) {
    // As far as it goes.
  }
  return got;
}

TEST(InflateTest, NothingIsMadeUpForAMatchFromBeforeTheFront) {
  const std::string text = "weights, weights and more weights; biases, biases and no weights. ";
  std::mt19937 random(9);
  int matches = 0;
  for (int i = 0; i < 30000; ++i) {
    const auto compressed =
        deflate_bytes(bytes_of(text), {.strategy = i % 2 == 0 ? Z_FIXED : Z_DEFAULT_STRATEGY});
    auto damaged = compressed;
    damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    const Refused reference = refused_by_zlib(damaged);
    const auto codec = inflate_codec(memory(damaged));
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
      const auto got = all_that_comes(*codec->start(), piece, std::size_t{1} << 16);
      const std::size_t common = std::min(got.size(), reference.sound.size());
      ASSERT_TRUE(
          std::ranges::equal(Bytes(got).first(common), Bytes(reference.sound).first(common)));
      if (reference.is_match) {
        ++matches;
        ASSERT_LE(got.size(), reference.sound.size()) << "in pieces of " << piece;
      }
    }
  }
  EXPECT_GT(matches, 1000);
}

TEST(InflateTest, BytesAfterTheStreamAreIgnored) {
  const auto plain = weight_bytes(1000);
  auto compressed = deflate_bytes(plain);
  compressed.resize(compressed.size() + 100);
  const auto cursor = inflate_codec(memory(compressed))->start();
  EXPECT_EQ(produce(*cursor, 1000), plain);
  EXPECT_NO_THROW(cursor->finish());
}

class StaleSource final : public Source {
 public:
  std::uint64_t size() const override { return 1000; }
  void read(std::uint64_t, std::span<std::byte>) const override {
    throw_error(ESTALE, "it is another file now");
  }
};

TEST(InflateTest, WhatTheCompressedSourceThrowsPassesThrough) {
  const auto cursor = inflate_codec(std::make_shared<StaleSource>())->start();
  std::vector<std::byte> byte(1);
  try {
    cursor->produce(byte);
    FAIL();
  } catch (const Damage&) {
    FAIL() << "no damage of the stream";
  } catch (const Error& error) {
    EXPECT_EQ(error.errno_value(), ESTALE);
  }
}

TEST(InflatePrefixTest, GivesTheFrontOfAMember) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    for (const std::size_t wanted :
         {std::size_t{0}, std::size_t{1}, std::size_t{128}, std::size_t{70000}}) {
      std::vector<std::byte> out(wanted);
      const std::size_t came = inflate_prefix(sample.compressed, out);
      ASSERT_EQ(came, std::min(wanted, sample.plain.size()));
      ASSERT_TRUE(std::ranges::equal(Bytes(out).first(came), Bytes(sample.plain).first(came)));
    }
  }
}

TEST(InflatePrefixTest, GivesWhatAPieceOfTheInputDecodesTo) {
  const auto plain = weight_bytes(100000);
  const auto compressed = deflate_bytes(plain);
  std::vector<std::byte> out(plain.size());
  std::size_t before = 0;
  for (std::size_t piece = 0; piece <= 1000; ++piece) {
    const std::size_t came = inflate_prefix(Bytes(compressed).first(piece), out);
    ASSERT_GE(came, before);
    ASSERT_TRUE(std::ranges::equal(Bytes(out).first(came), Bytes(plain).first(came)));
    before = came;
  }
  EXPECT_GT(before, 1000U);
}

TEST(InflatePrefixTest, RefusesWhatIsNoDeflateData) {
  const std::vector<std::byte> bad(10, std::byte{0xFF});
  std::vector<std::byte> out(128);
  EXPECT_THROW(inflate_prefix(bad, out), Damage);
}

}  // namespace
}  // namespace npyfs
