#include "fuse/statistics.h"

#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/temp_dir.h"

namespace npyfs {
namespace {

TEST(StatisticsTest, IsJsonWithEveryCount) {
  const TempDir dir;
  const std::string path = dir.write("x.npz", bytes_of("x"));
  struct stat status = {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  Statistics statistics;
  statistics.requests = 3;
  const Decoder decoder;
  const auto json =
      nlohmann::json::parse(statistics_json(statistics, 2, decoder, path, identity_of(status)));
  EXPECT_EQ(json["pid"], ::getpid());
  EXPECT_EQ(json["requests"], 3);
  EXPECT_EQ(json["open_handles"], 2);
  EXPECT_EQ(json["replaced"], false);
  for (const char* key : {"bytes", "cache_hits", "decoded_bytes", "source_reads", "waiting_reads",
                          "passthrough_opens", "index_points_loaded", "index_points_saved"}) {
    EXPECT_TRUE(json[key].is_number()) << key;
  }
}

TEST(StatisticsTest, TellsWhenThePathLeadsToAnotherFile) {
  const TempDir dir;
  const std::string path = dir.write("x.npz", bytes_of("x"));
  struct stat status = {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  const auto replaced = [&] {
    return nlohmann::json::parse(statistics_json(Statistics(), 0, Decoder(), path,
                                                 identity_of(status)))["replaced"] == true;
  };
  EXPECT_FALSE(replaced());
  std::filesystem::rename(dir.write("new", bytes_of("x")), path);
  EXPECT_TRUE(replaced());
  std::filesystem::remove(path);
  EXPECT_TRUE(replaced());
}

}  // namespace
}  // namespace npyfs
