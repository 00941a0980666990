#include "cli/mount_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/usage.h"

namespace npyfs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

MountRequest with(std::string_view list) {
  MountRequest request = default_request();
  set_options(request, list);
  settle(request);
  return request;
}

TEST(MountRequestTest, GivesTheCacheAtMostASixteenthOfTheMemory) {
  EXPECT_LE(default_request().decoder.cache_bytes, std::uint64_t{256} << 20);
  EXPECT_GT(default_request().decoder.cache_bytes, 0U);
}

TEST(MountRequestTest, HandsFuseItsOwnOptions) {
  EXPECT_THAT(
      with("ro,allow_other,default_permissions,noexec,max_read=131072").mount.kernel_options,
      ElementsAre("allow_other", "default_permissions", "noexec", "max_read=131072"));
}

TEST(MountRequestTest, HandsFuseAnOptionOnce) {
  EXPECT_THAT(with("nosuid,nodev,nosuid").mount.kernel_options, ElementsAre("nosuid", "nodev"));
}

TEST(MountRequestTest, EscapesCommasForLibfuseAgain) {
  EXPECT_THAT(with(R"(fsname=a\,b)").mount.kernel_options, ElementsAre(R"(fsname=a\,b)"));
}

TEST(MountRequestTest, DropsWhatOnlyConcernsMount8) {
  EXPECT_THAT(
      with("rw,defaults,auto,noauto,user,users,owner,group,nouser,user=alice,_netdev,nofail,"
           "x-systemd.automount,x-gvfs-show,comment=\"a,b\",suid,dev,relatime,sync,async,dirsync")
          .mount.kernel_options,
      IsEmpty());
}

TEST(MountRequestTest, UnmountsAfterAKilledDaemonItself) {
  EXPECT_FALSE(with("ro").auto_unmount);
  EXPECT_TRUE(with("auto_unmount").auto_unmount);
  EXPECT_THAT(with("auto_unmount").mount.kernel_options, IsEmpty());
}

TEST(MountRequestTest, TakesOwnerAndMaskForItself) {
  const MountRequest request = with("uid=1000,gid=100,umask=077");
  EXPECT_EQ(request.mount.uid, 1000U);
  EXPECT_EQ(request.mount.gid, 100U);
  EXPECT_EQ(request.mount.umask, 077U);
  EXPECT_THAT(request.mount.kernel_options, IsEmpty());
}

TEST(MountRequestTest, TakesLongOptionsByName) {
  const MountRequest request = with(
      "views=npy:raw,split=.,cache-size=1G,index-dir=/i,threads=3,readahead=512,log-file=/tmp/"
      "l,log-level=warn,"
      "foreground,single-thread,nonempty");
  EXPECT_EQ(request.mount.listed, (ViewSet{true, true, false, false, false, false}));
  EXPECT_EQ(request.load.split, '.');
  EXPECT_EQ(request.decoder.cache_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(request.index_directory, "/i");
  EXPECT_EQ(request.mount.threads, 3U);
  EXPECT_EQ(request.mount.readahead_kib, 512U);
  EXPECT_EQ(request.log.file, "/tmp/l");
  EXPECT_EQ(request.log.level, LogLevel::kWarn);
  EXPECT_TRUE(request.foreground);
  EXPECT_TRUE(request.mount.single_threaded);
  EXPECT_EQ(request.decoder.threads, 0U);
  EXPECT_TRUE(request.nonempty);
}

TEST(MountRequestTest, TakesSeveralTypeRulesWithColons) {
  const MountRequest request = with(R"(dtype=*.w=bfloat16:a\:b=float8_e5m2,dtype=c=int4)");
  ASSERT_EQ(request.load.types.size(), 3U);
  EXPECT_EQ(request.load.types[0].glob, "*.w");
  EXPECT_EQ(request.load.types[1].glob, "a:b");
  EXPECT_EQ(request.load.types[2].type, "int4");
}

TEST(MountRequestTest, StaysInTheForegroundToDebug) {
  const MountRequest request = with("debug");
  EXPECT_TRUE(request.foreground);
  EXPECT_EQ(request.log.level, LogLevel::kDebug);
}

TEST(MountRequestTest, ConfinesLinksWhereOthersMayLook) {
  EXPECT_FALSE(with("").load.confine_links);
  EXPECT_TRUE(with("allow_other").load.confine_links);
  EXPECT_TRUE(with("allow_root").load.confine_links);
  EXPECT_FALSE(with("allow_other,follow").load.confine_links);
}

TEST(MountRequestTest, NamesAnUnknownOptionAndWhatItMayMean) {
  EXPECT_THAT(
      [] { with("ro,allow_othr"); },
      ThrowsMessage<UsageError>(AllOf(HasSubstr("'allow_othr'"), HasSubstr("allow_other"))));
}

TEST(MountRequestTest, PassesOverUnknownOptionsWhenSloppy) {
  MountRequest request = default_request();
  set_options(request, "frobnicate,views=npy", true);
  EXPECT_FALSE(request.mount.listed[1]);
}

TEST(MountRequestTest, RefusesValuesThatAreMissingOrTooMany) {
  EXPECT_THAT([] { with("views"); },
              ThrowsMessage<UsageError>(HasSubstr("-o views: needs a value")));
  EXPECT_THAT([] { with("max_read="); }, ThrowsMessage<UsageError>(HasSubstr("needs a value")));
  EXPECT_THAT([] { with("allow_other=1"); },
              ThrowsMessage<UsageError>(HasSubstr("takes no value")));
  EXPECT_THAT([] { with("uid=alice"); }, ThrowsMessage<UsageError>(HasSubstr("-o uid: 'alice'")));
}

TEST(MountRequestTest, SaysThatAMountCantBeChanged) {
  EXPECT_THAT([] { with("remount,ro"); }, ThrowsMessage<UsageError>(HasSubstr("mount again")));
}

}  // namespace
}  // namespace npyfs
