#include "npyfs/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace npyfs {
namespace {

using testing::AllOf;
using testing::Property;
using testing::StrEq;
using testing::Throws;

auto is_error(int errno_value, const std::string& text) {
  return AllOf(Property(&Error::errno_value, errno_value), Property(&Error::what, StrEq(text)));
}

TEST(ErrorTest, CorruptIsEioWithThePartsOneAfterAnother) {
  EXPECT_THAT([] { throw_corrupt("length ", 70000, " of '", 'x', "'"); },
              Throws<Error>(is_error(EIO, "length 70000 of 'x'")));
}

TEST(ErrorTest, UnsupportedIsEopnotsupp) {
  EXPECT_THAT([] { throw_unsupported("method ", 98); },
              Throws<Error>(is_error(EOPNOTSUPP, "method 98")));
}

TEST(ErrorTest, ASystemCallsErrorHasItsText) {
  EXPECT_THAT([] { throw_system(ENOENT, "w.npz"); },
              Throws<Error>(is_error(ENOENT, "w.npz: No such file or directory")));
  EXPECT_THAT([] { throw_system(99999, "w.npz"); },
              Throws<Error>(is_error(99999, "w.npz: unknown error")));
}

TEST(ErrorTest, APrefixKeepsTheErrno) {
  const Error error = Error(EACCES, "encrypted").prefixed("a.npy").prefixed("w.npz");
  EXPECT_STREQ(error.what(), "w.npz: a.npy: encrypted");
  EXPECT_EQ(error.errno_value(), EACCES);
}

TEST(ErrorTest, AnErrnoHasItsSymbolicName) {
  EXPECT_EQ(errno_name(EIO), "EIO");
  EXPECT_EQ(errno_name(ESTALE), "ESTALE");
  EXPECT_EQ(errno_name(99999), "99999");
}

}  // namespace
}  // namespace npyfs
