#include "format/zip_stream.h"

#include <array>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/source/compose.h"

#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Deflated, since any method will do.
class ZipStreamTest : public testing::Test {
 protected:
  std::unique_ptr<Codec> codec(Bytes stored, std::uint64_t size) {
    ZipMember member;
    member.stored_size = stored.size();
    member.size = size;
    member.method = ZipMethod::kDeflate;
    member.crc32 = crc32_of(plain_);
    return zip_stream_codec(memory(std::vector(stored.begin(), stored.end())), member);
  }
  std::unique_ptr<Codec> sound() { return codec(deflate_bytes(plain_), plain_.size()); }

  std::vector<std::byte> plain_ = weight_bytes(300'000);
};

TEST_F(ZipStreamTest, DecodesForwardInPiecesOfAnySize) {
  const auto codec = sound();
  const auto cursor = codec->start();
  std::vector<std::byte> decoded(plain_.size());
  for (std::size_t at = 0, piece = 1; at < decoded.size(); piece = piece * 3 + 1) {
    EXPECT_EQ(cursor->position(), at);
    const std::size_t length = std::min(piece, decoded.size() - at);
    cursor->produce(std::span(decoded).subspan(at, length));
    at += length;
  }
  EXPECT_EQ(decoded, plain_);
  EXPECT_NO_THROW(cursor->finish());
  EXPECT_EQ(cursor->save(), nullptr);
}

TEST_F(ZipStreamTest, EveryCursorIsItsOwn) {
  const auto codec = sound();
  std::vector<std::vector<std::byte>> decoded(4, std::vector<std::byte>(plain_.size()));
  {
    std::vector<std::jthread> threads;
    for (auto& bytes : decoded) {
      threads.emplace_back([&] { codec->start()->produce(bytes); });
    }
  }
  for (const auto& bytes : decoded) {
    EXPECT_EQ(bytes, plain_);
  }
}

TEST_F(ZipStreamTest, AStreamThatEndsEarlyIsDamage) {
  const auto codec = this->codec(deflate_bytes(bytes_of("short")), 100);
  std::array<std::byte, 100> bytes{};
  EXPECT_THAT([&] { codec->start()->produce(bytes); }, ThrowsMessage<Damage>(HasSubstr("")));
}

TEST_F(ZipStreamTest, AStreamThatBreaksIsDamage) {
  const auto codec = this->codec(bytes_of("\xff\xff\xff\xff"), 100);
  std::array<std::byte, 100> bytes{};
  EXPECT_THAT([&] { codec->start()->produce(bytes); }, ThrowsMessage<Damage>(HasSubstr("byte 0")));
}

}  // namespace
}  // namespace npyfs
