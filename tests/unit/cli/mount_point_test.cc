#include "cli/mount_point.h"

#include <filesystem>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

#include "support/temp_dir.h"

namespace npyfs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

class MountPointTest : public testing::Test {
 protected:
  // The error for this mount point, if any.
  static std::string refusal(const std::string& path, const std::string& source,
                             bool nonempty = false) {
    try {
      const MountPoint mount_point(path, source, nonempty);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }

  TempDir dir_;
  std::string source_ = dir_.write("w.npz", {});
};

TEST_F(MountPointTest, TakesAnEmptyDirectory) {
  fs::create_directory(dir_.path("m"));
  const MountPoint mount_point(dir_.path("m"), source_, false);
  { const MountPoint::Held held(mount_point); }
  EXPECT_TRUE(fs::exists(dir_.path("m")));
}

TEST_F(MountPointTest, MakesAMissingOneAndRemovesItAgain) {
  const MountPoint mount_point(dir_.path("m"), source_, false);
  EXPECT_FALSE(fs::exists(dir_.path("m")));
  {
    const MountPoint::Held held(mount_point);
    EXPECT_TRUE(fs::is_directory(dir_.path("m")));
  }
  EXPECT_FALSE(fs::exists(dir_.path("m")));
}

TEST_F(MountPointTest, RefusesADirectoryThatIsntEmptyUnlessTold) {
  dir_.write("m/file", {});
  EXPECT_THAT(refusal(dir_.path("m"), source_), HasSubstr("not empty"));
  EXPECT_EQ(refusal(dir_.path("m"), source_, true), "");
}

TEST_F(MountPointTest, RefusesAFile) {
  dir_.write("m", {});
  EXPECT_THAT(refusal(dir_.path("m"), source_), HasSubstr("not a directory"));
  EXPECT_THAT(refusal(source_, source_), HasSubstr("not a directory"));
}

TEST_F(MountPointTest, RefusesToMakeMoreThanOneDirectory) {
  EXPECT_THAT(refusal(dir_.path("a/b"), source_), HasSubstr("parent directory doesn't exist"));
}

TEST_F(MountPointTest, RefusesTheSourceAndWhatLiesInIt) {
  fs::create_directories(dir_.path("ck/sub"));
  EXPECT_THAT(refusal(dir_.path("ck"), dir_.path("ck"), true), HasSubstr("lies in the source"));
  EXPECT_THAT(refusal(dir_.path("ck/sub"), dir_.path("ck")), HasSubstr("lies in the source"));
  EXPECT_THAT(refusal(dir_.path("ck/new"), dir_.path("ck")), HasSubstr("lies in the source"));
  fs::create_symlink("ck", dir_.path("link"));
  EXPECT_THAT(refusal(dir_.path("ck/new"), dir_.path("link")), HasSubstr("lies in the source"));
}

TEST_F(MountPointTest, TakesANeighbourWhoseNameBeginsLikeTheSource) {
  fs::create_directories(dir_.path("ck"));
  EXPECT_EQ(refusal(dir_.path("ck2"), dir_.path("ck")), "");
}

TEST_F(MountPointTest, RefusesADirectoryAboveTheSource) {
  EXPECT_THAT(refusal(dir_.path(), source_, true), HasSubstr("would be hidden"));
}

}  // namespace
}  // namespace npyfs
