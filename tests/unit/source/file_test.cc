#include "npyfs/source/file.h"

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

#include "support/deflate_bytes.h"
#include "support/temp_dir.h"

namespace npyfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Property;
using testing::Throws;

auto fails(int errno_value, const std::string& text) {
  return Throws<Error>(
      AllOf(Property(&Error::errno_value, errno_value), Property(&Error::what, HasSubstr(text))));
}

std::string text(const Source& source) {
  const auto bytes = read_bytes(source, 0, source.size());
  return std::string(text_view(bytes));
}

// Another time of modification, however coarse the clock is.
void set_time(const std::string& path, long seconds) {
  const struct timespec times[2] = {{0, UTIME_OMIT}, {seconds, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

class FileTest : public testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view content) {
    const std::string path = dir_.write(name, bytes_of(content));
    set_time(path, 1'000'000);
    return path;
  }

  std::shared_ptr<const File> below(const std::string& name) {
    struct stat status = {};
    EXPECT_EQ(::stat(dir_.path(name).c_str(), &status), 0);
    return File::below(root_, name, identity_of(status), pool_);
  }

  TempDir dir_;
  std::shared_ptr<const Fd> root_ = std::make_shared<const Fd>(open_readonly(dir_.path()));
  std::shared_ptr<FilePool> pool_ = std::make_shared<FilePool>(4);
};

TEST_F(FileTest, ReadsAndLendsTheSameBytes) {
  const auto plain = noise_bytes(100'000);
  const auto file = File::open(write("a", text_view(plain)));
  EXPECT_EQ(text(*file), text_view(plain));
  Gather gather(50'000);
  file->gather(30'001, 50'000, gather);
  ASSERT_EQ(gather.spans().size(), 1U);
  EXPECT_EQ(std::string_view(static_cast<const char*>(gather.spans()[0].iov_base), 50'000),
            text_view(plain).substr(30'001, 50'000));
  EXPECT_EQ(gather.spans()[0].iov_base, file->acquire()->mapping().data() + 30'001);
}

TEST_F(FileTest, AnEmptyFileHasNoMapping) {
  const auto file = File::open(write("a", ""));
  EXPECT_EQ(file->size(), 0U);
  EXPECT_TRUE(file->acquire()->mapping().empty());
  EXPECT_EQ(text(*file), "");
}

TEST_F(FileTest, OnlyRegularFilesOpen) {
  EXPECT_THAT([&] { File::open(dir_.path()); }, fails(EISDIR, "not a regular file"));
  ASSERT_EQ(::mkfifo(dir_.path("fifo").c_str(), 0600), 0);
  EXPECT_THAT([&] { File::open(dir_.path("fifo")); }, fails(EINVAL, "not a regular file"));
  EXPECT_THAT([&] { File::open(dir_.path("none")); }, fails(ENOENT, "none"));
}

TEST_F(FileTest, CountsItsReads) {
  const auto file = File::open(write("a", "abc"));
  const std::uint64_t before = file_reads();
  text(*file);
  text(*file);
  EXPECT_EQ(file_reads(), before + 2);
}

TEST_F(FileTest, IsStaleForGoodOnceItWasCut) {
  const std::string path = write("a", "0123456789");
  const auto file = File::open(path);
  ASSERT_EQ(::truncate(path.c_str(), 5), 0);
  EXPECT_THAT([&] { text(*file); },
              fails(ESTALE, "written to since it was mounted; unmount and mount it again"));
  EXPECT_THAT([&] { file->check(); }, fails(ESTALE, path));
  write("a", "0123456789");
  EXPECT_THAT([&] { file->check(); }, fails(ESTALE, path)) << "even if it is as it was again";
}

TEST_F(FileTest, IsStaleOnceItHasAnotherTime) {
  const std::string path = write("a", "0123456789");
  const auto file = File::open(path);
  EXPECT_NO_THROW(file->check());
  set_time(path, 1'000'001);
  EXPECT_THAT([&] { text(*file); }, fails(ESTALE, "written to"));
}

TEST_F(FileTest, ARenamedLinkedOrChmoddedFileIsTheSame) {
  const std::string path = write("a", "0123456789");
  const auto file = File::open(path);
  ASSERT_EQ(::chmod(path.c_str(), 0400), 0);
  ASSERT_EQ(::link(path.c_str(), dir_.path("b").c_str()), 0);
  ASSERT_EQ(::rename(path.c_str(), dir_.path("c").c_str()), 0);
  EXPECT_EQ(text(*file), "0123456789");
}

TEST_F(FileTest, AHeldFileGoesOnBeingServedWhenItIsReplacedOrRemoved) {
  const std::string path = write("a", "old");
  const auto file = File::open(path);
  write("new", "new");
  std::filesystem::rename(dir_.path("new"), path);
  EXPECT_EQ(text(*file), "old");
  std::filesystem::remove(path);
  EXPECT_EQ(text(*file), "old");
}

TEST_F(FileTest, AFileBelowADirectoryIsOpenedWhenItIsRead) {
  write("sub/a", "abc");
  const auto file = below("sub/a");
  EXPECT_EQ(text(*file), "abc");
  EXPECT_EQ(file->path(), "sub/a");
}

TEST_F(FileTest, AFileBelowADirectoryIsFoundWhereTheDirectoryWent) {
  write("a", "abc");
  const auto file = below("a");
  const std::string moved = dir_.path() + "-moved";
  std::filesystem::rename(dir_.path(), moved);
  EXPECT_EQ(text(*file), "abc");
  std::filesystem::rename(moved, dir_.path());
}

TEST_F(FileTest, AnotherFileInItsPlaceIsStaleWhenItIsOpenedAgain) {
  write("a", "old");
  const auto file = below("a");
  EXPECT_EQ(text(*file), "old");
  write("new", "new");
  std::filesystem::rename(dir_.path("new"), dir_.path("a"));
  EXPECT_EQ(text(*file), "old") << "it is still open";
  pool_->close_all();
  EXPECT_THAT([&] { text(*file); }, fails(ESTALE, "another file is in its place"));
}

TEST_F(FileTest, ARemovedFileIsStale) {
  write("sub/a", "old");
  const auto file = below("sub/a");
  std::filesystem::remove_all(dir_.path("sub"));
  EXPECT_THAT([&] { text(*file); }, fails(ESTALE, "removed since it was mounted"));
  write("sub", "a file where its directory was");
  EXPECT_THAT([&] { text(*file); }, fails(ESTALE, "removed since it was mounted"));
}

TEST_F(FileTest, AFileChangedBeforeItIsFirstOpenedIsStale) {
  write("a", "old");
  const auto file = below("a");
  write("a", "longer than it was");
  EXPECT_THAT([&] { text(*file); }, fails(ESTALE, "written to"));
}

TEST_F(FileTest, APoolKeepsFewFilesOpen) {
  std::vector<std::shared_ptr<const File>> files;
  for (int i = 0; i < 100; ++i) {
    write(std::to_string(i), std::to_string(i));
    files.push_back(below(std::to_string(i)));
  }
  const std::size_t before = open_files();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(text(*files[static_cast<std::size_t>(i)]), std::to_string(i));
      ASSERT_LE(open_files(), before + 4);
    }
  }
  pool_->close_all();
  EXPECT_EQ(open_files(), before);
}

TEST_F(FileTest, APoolKeepsWhatWasUsedLast) {
  std::vector<std::shared_ptr<const File>> files;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    write(name, name);
    files.push_back(below(name));
  }
  const auto read = [&](std::initializer_list<std::size_t> which) {
    for (const std::size_t i : which) {
      text(*files[i]);
    }
  };
  const std::weak_ptr<const OpenFile> open = files[0]->acquire();
  read({1, 2, 3});
  EXPECT_FALSE(open.expired());
  read({0, 4});
  EXPECT_FALSE(open.expired()) << "it was read again before the fifth came";
  read({1, 2, 3});
  EXPECT_TRUE(open.expired());
}

TEST_F(FileTest, AReplyInProgressKeepsItsFileOpen) {
  write("a", "abc");
  const auto a = below("a");
  Gather gather(3);
  a->gather(0, 3, gather);
  pool_->close_all();
  std::filesystem::remove(dir_.path("a"));
  EXPECT_EQ(std::string_view(static_cast<const char*>(gather.spans()[0].iov_base), 3), "abc");
}

TEST_F(FileTest, ManyThreadsReadManyFilesThroughASmallPool) {
  std::vector<std::shared_ptr<const File>> files;
  for (int i = 0; i < 50; ++i) {
    write(std::to_string(i), std::to_string(i));
    files.push_back(below(std::to_string(i)));
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 400; ++i) {
        const std::size_t which = (i * 7 + t * 13) % files.size();
        wrong += text(*files[which]) == std::to_string(which) ? 0 : 1;
        files[which]->check();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(FileTest, TenTimesMoreFilesThanMayBeOpen) {
  std::vector<std::shared_ptr<const File>> files;
  for (int i = 0; i < 300; ++i) {
    write(std::to_string(i), std::to_string(i));
    files.push_back(below(std::to_string(i)));
  }
  struct rlimit old = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  struct rlimit few = old;
  few.rlim_cur = open_files() + 8;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  for (std::size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(text(*files[i]), std::to_string(i));
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
}

}  // namespace
}  // namespace npyfs
