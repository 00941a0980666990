#include "cli/run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_program.h"
#include "support/npz_builder.h"
#include "support/temp_dir.h"
#include "unit/cli/command_line.h"

namespace npyfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(RunTest, WithoutWordsShowsTheHelpAsWrongUsage) {
  const Outcome outcome = npyfs({});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, StartsWith("usage: npyfs"));
}

TEST(RunTest, HelpNamesEveryVerb) {
  const Outcome outcome = npyfs({"--help"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* verb : {"mount", "umount", "ls", "info", "cat", "extract"}) {
    EXPECT_THAT(outcome.out, HasSubstr(std::string("npyfs ") + verb));
    const Outcome help = npyfs({verb, "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out, StartsWith(std::string("usage: npyfs ") + verb));
  }
}

TEST(RunTest, VersionNamesTheLibraries) {
  EXPECT_THAT(npyfs({"--version"}).out,
              AllOf(StartsWith("npyfs "), HasSubstr("\nlibfuse 3."), HasSubstr("\nlibzip 1."),
                    HasSubstr("\nzlib 1."), HasSubstr("\nISA-L 2.")));
}

TEST(RunTest, SuggestsAVerbForASlip) {
  const Outcome outcome = npyfs({"extrct", "w.npz"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean extract?"));
}

TEST(RunTest, WrongUsageNamesWhatIsWrongAndEndsWithTwo) {
  const std::vector<std::vector<std::string>> wrong = {{"ls"},
                                                       {"ls", "--frob", "x"},
                                                       {"cat", "x"},
                                                       {"extract", "x"},
                                                       {"umount"},
                                                       {"mount", "x"},
                                                       {"mount", "x", "y", "z"},
                                                       {"mount", "x", "y", "-o", "frob"},
                                                       {"mount", "x", "y", "--views", "frob"},
                                                       {"mount", "x", "y", "--dtype", "frob"},
                                                       {"x", "y", "-o", "frob"},
                                                       {"x"},
                                                       {"--frob"}};
  for (const auto& words : wrong) {
    const Outcome outcome = npyfs(words);
    EXPECT_EQ(outcome.status, 2) << testing::PrintToString(words);
    EXPECT_THAT(outcome.err, StartsWith("npyfs: ")) << testing::PrintToString(words);
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(RunTest, MountNamesASourceThatIsntThere) {
  const Outcome outcome = npyfs({"mount", "/none.npz", "/mnt"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "npyfs: /none.npz: No such file or directory\n");
}

TEST(RunTest, UmountRefusesWhatIsNoMountOfNpyfs) {
  const TempDir dir;
  const Outcome nothing = npyfs({"umount", dir.path()});
  EXPECT_EQ(nothing.status, 1);
  EXPECT_THAT(nothing.err, HasSubstr("nothing is mounted there"));
  const Outcome proc = npyfs({"umount", "/proc"});
  EXPECT_EQ(proc.status, 1);
  EXPECT_THAT(proc.err, HasSubstr("of type proc"));
}

TEST(RunTest, AsAHelperPassesOverUnknownOptionsIfSloppy) {
  const std::string helper = "/sbin/mount.fuse.npyfs";
  EXPECT_EQ(npyfs({"w.npz", "/mnt", "-n", "-v", "-f", "-o", "rw,frob"}, helper).status, 2);
  EXPECT_EQ(
      npyfs({"w.npz", "/mnt", "-s", "-f", "-t", "fuse.npyfs", "-N", "ns", "-o", "rw,frob"}, helper)
          .status,
      0);
}

TEST(RunTest, AsAHelperStillChecksValues) {
  const Outcome outcome = npyfs({"w.npz", "/mnt", "-f", "-o", "views=frob"}, "mount.npyfs");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("-o views: 'frob'"));
}

TEST(RunProgramTest, ReturnsStatusAndOutput) {
  const ProgramResult result = run_program({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.output, "out\nerr");
  EXPECT_EQ(run_program({"npyfs-no-such-program"}).status, 127);
}

TEST(RunProgramTest, FindsProgramsInThePath) {
  EXPECT_TRUE(has_program("sh"));
  EXPECT_FALSE(has_program("npyfs-no-such-program"));
}

}  // namespace
}  // namespace npyfs
