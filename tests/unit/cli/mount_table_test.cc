#include "cli/mount_table.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

#include "support/temp_dir.h"

namespace npyfs {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(MountTableTest, ReadsPlaceTypeAndSource) {
  std::istringstream table(
      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n"
      "61 36 0:55 / /mnt/w ro,nosuid - fuse.npyfs /data/w.npz ro,user_id=1000,group_id=5\n");
  const auto mounts = parse_mount_table(table);
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].mountpoint, "/mnt2");
  EXPECT_EQ(mounts[0].type, "ext3");
  EXPECT_EQ(mounts[1].mountpoint, "/mnt/w");
  EXPECT_EQ(mounts[1].type, "fuse.npyfs");
  EXPECT_EQ(mounts[1].source, "/data/w.npz");
  EXPECT_FALSE(mounts[0].user);
  EXPECT_EQ(mounts[1].user, 1000U);
}

TEST(MountTableTest, UndoesTheEscapesOfBlanks) {
  std::istringstream table(R"(61 36 0:55 / /mnt/my\040arrays ro - fuse.npyfs /data/a\134b ro)");
  const auto mounts = parse_mount_table(table);
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(mounts[0].mountpoint, "/mnt/my arrays");
  EXPECT_EQ(mounts[0].source, R"(/data/a\b)");
}

TEST(MountTableTest, PassesOverLinesThatEndEarly) {
  std::istringstream table("61 36 0:55\n\n61 36 0:55 / /mnt ro -\n");
  EXPECT_TRUE(parse_mount_table(table).empty());
}

TEST(MountTableTest, KnowsTheMountOfProc) {
  const auto mounted = mounted_at("/proc");
  ASSERT_TRUE(mounted);
  EXPECT_EQ(mounted->type, "proc");
  EXPECT_FALSE(mounted_at("/proc/self"));
}

TEST(MountTableTest, ResolvesAPathWhoseLastPartDoesntExist) {
  const TempDir dir;
  EXPECT_EQ(resolve(dir.path("new")), resolve(dir.path()) + "/new");
  EXPECT_EQ(resolve(dir.path("new/")), resolve(dir.path()) + "/new");
  EXPECT_EQ(resolve("/does-not-exist"), "/does-not-exist");
}

TEST(MountTableTest, ResolvesSymbolicLinks) {
  const TempDir dir;
  std::filesystem::create_directory(dir.path("real"));
  std::filesystem::create_symlink("real", dir.path("link"));
  EXPECT_EQ(resolve(dir.path("link/new")), resolve(dir.path("real")) + "/new");
}

TEST(MountTableTest, ThrowsIfTheParentDoesntExist) {
  const TempDir dir;
  EXPECT_THAT([&] { resolve(dir.path("a/b")); }, ThrowsMessage<Error>(HasSubstr("/a: ")));
}

}  // namespace
}  // namespace npyfs
