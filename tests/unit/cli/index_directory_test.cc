#include "cli/index_directory.h"

#include <optional>
#include <sstream>

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace npyfs {
namespace {

using testing::EndsWith;
using testing::StartsWith;

// A variable of the environment with another value, or none, for a while.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = ::getenv(name)) {
      before_ = before;
    }
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) {
    if (value != nullptr) {
      ::setenv(name_, value, 1);
    } else {
      ::unsetenv(name_);
    }
  }

  const char* name_;
  std::optional<std::string> before_;
};

TEST(IndexDirectoryTest, AutoFollowsTheEnvironment) {
  const Variable home("HOME", "/home/ada");
  {
    const Variable cache("XDG_CACHE_HOME", "/var/tmp/ada");
    EXPECT_EQ(cache_directory(), "/var/tmp/ada/npyfs");
  }
  for (const char* useless : {"", "relative", static_cast<const char*>(nullptr)}) {
    const Variable cache("XDG_CACHE_HOME", useless);
    EXPECT_EQ(cache_directory(), "/home/ada/.cache/npyfs");
  }
}

TEST(IndexDirectoryTest, WithoutHomeTheUsersEntryCounts) {
  const Variable cache("XDG_CACHE_HOME", nullptr);
  const Variable home("HOME", nullptr);
  const passwd* entry = ::getpwuid(::geteuid());
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(cache_directory(), std::string(entry->pw_dir) + "/.cache/npyfs");
}

TEST(IndexDirectoryTest, MakesWhatIsMissing) {
  const TempDir dir;
  std::ostringstream err;
  EXPECT_NE(open_index(dir.path("a/b/c"), err), nullptr);
  EXPECT_TRUE(std::filesystem::is_directory(dir.path("a/b/c")));
  EXPECT_EQ(err.str(), "");
}

TEST(IndexDirectoryTest, OneThatCannotBeHadIsOneWarning) {
  const TempDir dir;
  dir.write("file", bytes_of("x"));
  std::ostringstream err;
  EXPECT_EQ(open_index(dir.path("file"), err), nullptr);
  EXPECT_THAT(err.str(), StartsWith("npyfs: " + dir.path("file") + ": "));
  EXPECT_THAT(err.str(), EndsWith("; the mount goes on without keeping an index\n"));
}

TEST(IndexDirectoryTest, NoneIsAskedForUnlessGiven) {
  std::ostringstream err;
  EXPECT_EQ(open_index("", err), nullptr);
  EXPECT_EQ(err.str(), "");
}

}  // namespace
}  // namespace npyfs
