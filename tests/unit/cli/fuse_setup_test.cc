#include "cli/fuse_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

#include "support/temp_dir.h"

namespace npyfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class FuseSetupTest : public testing::Test {
 protected:
  FuseSetup user() const {
    FuseSetup setup;
    setup.device = dir_.write("fuse", {});
    setup.configuration = dir_.path("fuse.conf");
    setup.has_fusermount = true;
    return setup;
  }

  FuseSetup root() const {
    FuseSetup setup = user();
    setup.is_root = true;
    setup.may_mount = true;
    return setup;
  }

  TempDir dir_;
};

TEST_F(FuseSetupTest, IsContentWithWhatIsNeeded) {
  EXPECT_NO_THROW(check_fuse(user(), false));
  EXPECT_NO_THROW(check_fuse(root(), true));
}

TEST_F(FuseSetupTest, TellsHowToGetTheDevice) {
  FuseSetup setup = root();
  setup.device = dir_.path("none");
  EXPECT_THAT(
      [&] { check_fuse(setup, false); },
      ThrowsMessage<Error>(AllOf(HasSubstr("apt install fuse3"), HasSubstr("--device /dev/fuse"),
                                 HasSubstr("npyfs extract"))));
}

TEST_F(FuseSetupTest, TellsRootInAContainerWhatItLacks) {
  FuseSetup setup = root();
  setup.may_mount = false;
  EXPECT_THAT([&] { check_fuse(setup, false); },
              ThrowsMessage<Error>(HasSubstr("--cap-add SYS_ADMIN")));
}

TEST_F(FuseSetupTest, TellsUsersToInstallFusermount) {
  FuseSetup setup = user();
  setup.has_fusermount = false;
  EXPECT_THAT([&] { check_fuse(setup, false); },
              ThrowsMessage<Error>(HasSubstr("apt install fuse3")));
  setup.may_mount = true;
  EXPECT_NO_THROW(check_fuse(setup, false));
}

TEST_F(FuseSetupTest, LetsOthersInOnlyIfTheConfigurationSaysSo) {
  EXPECT_THAT([&] { check_fuse(user(), true); },
              ThrowsMessage<Error>(HasSubstr("user_allow_other")));
  dir_.write("fuse.conf", bytes_of("#user_allow_other\nmount_max = 1000\n"));
  EXPECT_THROW(check_fuse(user(), true), Error);
  dir_.write("fuse.conf", bytes_of("mount_max = 1000\n  user_allow_other \n"));
  EXPECT_NO_THROW(check_fuse(user(), true));
}

}  // namespace
}  // namespace npyfs
