#include "cli/output.h"

#include <array>
#include <string>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "npyfs/base/fd.h"

#include "support/temp_dir.h"

namespace npyfs {
namespace {

TEST(OutputTest, WritesSmallAndLargePiecesInOrder) {
  const TempDir dir;
  const std::string path = dir.path("out");
  const std::string large(1 << 20, 'x');
  {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    OutputStream out(file.get());
    out << "a" << large << "b" << 7;
    out.put('c');
    out.flush();
  }
  EXPECT_EQ(read_file(path), "a" + large + "b7c");
}

TEST(OutputTest, ThrowsOnAFullDisk) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  OutputStream out(full.get());
  out << "text";
  try {
    out.flush();
    FAIL() << "no exception";
  } catch (const OutputError& e) {
    EXPECT_EQ(e.errno_value(), ENOSPC);
  }
}

TEST(OutputTest, ThrowsOnAClosedPipeAsSoonAsItWrites) {
  ::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ::close(ends[0]);
  const Fd write_end(ends[1]);
  OutputStream out(write_end.get());
  try {
    for (int i = 0; i < 100'000; ++i) {
      out << "a line of text\n";
    }
    FAIL() << "no exception";
  } catch (const OutputError& e) {
    EXPECT_EQ(e.errno_value(), EPIPE);
  }
}

}  // namespace
}  // namespace npyfs
