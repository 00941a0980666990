#include "cli/destination.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

#include "support/temp_dir.h"

namespace npyfs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::size_t entries(const std::string& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

TEST(DestinationTest, MakesDirectoriesAndNamesTheFileAtTheEnd) {
  const TempDir dir;
  Destination destination(dir.path("a/b"));
  auto file = destination.create("c/d/x.npy", 5);
  file.write(bytes_of("hel"));
  file.write(bytes_of("lo"));
  EXPECT_FALSE(fs::exists(dir.path("a/b/c/d/x.npy")));
  file.commit();
  EXPECT_EQ(read_file(dir.path("a/b/c/d/x.npy")), "hello");
}

TEST(DestinationTest, LeavesNothingOfAFileThatWasGivenUp) {
  const TempDir dir;
  Destination destination(dir.path());
  {
    auto file = destination.create("x.npy", 0);
    file.write(bytes_of("half"));
  }
  EXPECT_EQ(entries(dir.path()), 0U);
}

TEST(DestinationTest, ReplacesWhatHadTheName) {
  const TempDir dir;
  dir.write("x.npy", bytes_of("old content"));
  Destination destination(dir.path());
  EXPECT_EQ(destination.existing_size("x.npy"), 11U);
  auto file = destination.create("x.npy", 3);
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_EQ(read_file(dir.path("x.npy")), "new");
  EXPECT_EQ(destination.existing_size("x.npy"), 3U);
  EXPECT_EQ(destination.existing_size("y.npy"), std::nullopt);
}

TEST(DestinationTest, RefusesToFollowADirectoryThatIsALink) {
  const TempDir dir;
  const TempDir outside;
  fs::create_directory_symlink(outside.path(), dir.path("layer"));
  Destination destination(dir.path());
  EXPECT_THAT([&] { destination.create("layer/x.npy", 0); },
              ThrowsMessage<Error>(HasSubstr("symbolic link")));
  EXPECT_EQ(entries(outside.path()), 0U);
}

TEST(DestinationTest, ReplacesALinkInsteadOfWritingThroughIt) {
  const TempDir dir;
  const TempDir outside;
  const std::string target = outside.write("target", bytes_of("mine"));
  fs::create_symlink(target, dir.path("x.npy"));
  Destination destination(dir.path());
  EXPECT_EQ(destination.existing_size("x.npy"), std::nullopt);
  auto file = destination.create("x.npy", 4);
  file.write(bytes_of("your"));
  file.commit();
  EXPECT_EQ(read_file(target), "mine");
  EXPECT_FALSE(fs::is_symlink(dir.path("x.npy")));
}

TEST(DestinationTest, NamesThePathThatIsInTheWay) {
  const TempDir dir;
  dir.write("layer", bytes_of("a file"));
  Destination destination(dir.path());
  EXPECT_THAT([&] { destination.create("layer/x.npy", 0); },
              ThrowsMessage<Error>(HasSubstr(dir.path("layer") + ": ")));
}

TEST(DestinationTest, CopesWithDeepKeys) {
  const TempDir dir;
  std::string path;
  for (int i = 0; i < 300; ++i) {
    path += "level/";
  }
  Destination destination(dir.path());
  auto file = destination.create(path + "x.npy", 1);
  file.write(bytes_of("x"));
  file.commit();
  EXPECT_EQ(destination.existing_size(path + "x.npy"), 1U);
}

TEST(DestinationTest, ThrowsIfADirectoryCantBeMade) {
  const TempDir dir;
  dir.write("file", {});
  EXPECT_THROW(Destination(dir.path("file/sub")), Error);
}

}  // namespace
}  // namespace npyfs
