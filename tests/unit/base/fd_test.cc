#include "npyfs/base/fd.h"

#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/bytes.h"
#include "npyfs/base/error.h"

#include "support/temp_dir.h"

namespace npyfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Property;
using testing::Throws;

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

Fd null_device() { return open_readonly("/dev/null"); }

TEST(FdTest, ClosesWhatItHolds) {
  std::optional<Fd> fd(null_device());
  const int number = fd->get();
  EXPECT_TRUE(is_open(number));
  fd.reset();
  EXPECT_FALSE(is_open(number));
}

TEST(FdTest, AMovedFromFdHoldsNothing) {
  Fd first = null_device();
  const int number = first.get();
  const Fd second = std::move(first);
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(FdTest, AssignmentClosesTheOldDescriptor) {
  Fd fd = null_device();
  const int old = fd.get();
  fd = null_device();
  EXPECT_FALSE(is_open(old));
  EXPECT_TRUE(is_open(fd.get()));
  fd = Fd();
  EXPECT_FALSE(fd.valid());
}

TEST(FdTest, OpensCloseOnExec) { EXPECT_NE(::fcntl(null_device().get(), F_GETFD) & FD_CLOEXEC, 0); }

TEST(FdTest, NamesThePathThatCannotBeOpened) {
  EXPECT_THAT(
      [] { open_readonly("/nowhere/x.npz"); },
      Throws<Error>(AllOf(Property(&Error::errno_value, ENOENT),
                          Property(&Error::what, HasSubstr("/nowhere/x.npz: No such file")))));
}

TEST(FdTest, OpensRelativeToADirectory) {
  const TempDir dir;
  dir.write("sub/a", bytes_of("abc"));
  const Fd root = open_readonly(dir.path());
  const Fd file = open_readonly("sub/a", root.get());
  std::array<std::byte, 3> bytes{};
  pread_exact(file.get(), bytes, 0);
  EXPECT_EQ(text_view(bytes), "abc");
}

TEST(FdTest, DoesNotWaitForTheWriterOfAFifo) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo(dir.path("fifo").c_str(), 0600), 0);
  EXPECT_TRUE(open_readonly(dir.path("fifo")).valid());
}

TEST(PreadExactTest, ReadsFromTheOffset) {
  const TempDir dir;
  const Fd file = open_readonly(dir.write("a", bytes_of("0123456789")));
  std::array<std::byte, 4> bytes{};
  pread_exact(file.get(), bytes, 6);
  EXPECT_EQ(text_view(bytes), "6789");
  pread_exact(file.get(), {}, 1000);
}

TEST(PreadExactTest, SaysHowMuchIsMissing) {
  const TempDir dir;
  const Fd file = open_readonly(dir.write("a", bytes_of("0123456789")));
  std::array<std::byte, 4> bytes{};
  EXPECT_THAT(
      [&] { pread_exact(file.get(), bytes, 8); },
      Throws<Error>(AllOf(Property(&Error::errno_value, EIO),
                          Property(&Error::what, HasSubstr("ends at 10, 2 bytes too early")))));
}

TEST(PreadExactTest, PassesTheErrnoOn) {
  const Fd directory = open_readonly("/");
  std::array<std::byte, 4> bytes{};
  EXPECT_THAT([&] { pread_exact(directory.get(), bytes, 0); },
              Throws<Error>(Property(&Error::errno_value, EISDIR)));
}

}  // namespace
}  // namespace npyfs
