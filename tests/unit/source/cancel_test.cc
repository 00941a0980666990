#include "npyfs/source/cancel.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

TEST(CancelTest, NothingIsCancelledWithoutAScope) {
  EXPECT_FALSE(is_cancelled());
  EXPECT_NO_THROW(throw_if_cancelled());
}

TEST(CancelTest, TheInnermostScopeCounts) {
  bool off = false;
  const CancelScope outer([&] { return off; });
  EXPECT_FALSE(is_cancelled());
  off = true;
  EXPECT_TRUE(is_cancelled());
  {
    const CancelScope inner([] { return false; });
    EXPECT_FALSE(is_cancelled());
  }
  EXPECT_TRUE(is_cancelled());
}

TEST(CancelTest, ThrowsEintr) {
  const CancelScope scope([] { return true; });
  EXPECT_THAT([] { throw_if_cancelled(); },
              testing::Throws<Error>(testing::Property(&Error::errno_value, EINTR)));
}

TEST(CancelTest, AScopeIsItsThreadsOwn) {
  const CancelScope scope([] { return true; });
  bool elsewhere = true;
  std::thread([&] { elsewhere = is_cancelled(); }).join();
  EXPECT_FALSE(elsewhere);
}

}  // namespace
}  // namespace npyfs
