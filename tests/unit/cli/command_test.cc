#include "cli/command.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/usage.h"

namespace npyfs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

class CommandTest : public testing::Test {
 protected:
  CommandTest() : command_("ls", "ls [OPTIONS] SOURCE [GLOB...]", "Lists arrays.") {
    command_.argument("SOURCE", source_, "what to open");
    command_.arguments("GLOB", globs_, "which ones");
    command_.flag("-l,--long", is_long_, "a table");
    command_.option("--views", "LIST", views_, "which files");
    command_.repeatable("--dtype", "GLOB=TYPE", types_, "which types");
  }

  bool parse(const std::vector<std::string>& words) { return command_.parse(words, out_); }

  Command command_;
  std::ostringstream out_;
  std::string source_;
  std::vector<std::string> globs_;
  bool is_long_ = false;
  std::string views_;
  std::vector<std::string> types_;
};

TEST_F(CommandTest, TellsOptionsFromArguments) {
  EXPECT_TRUE(parse({"w.npz", "-l", "a*", "--views=npy", "b"}));
  EXPECT_EQ(source_, "w.npz");
  EXPECT_THAT(globs_, ElementsAre("a*", "b"));
  EXPECT_TRUE(is_long_);
  EXPECT_EQ(views_, "npy");
}

TEST_F(CommandTest, ARepeatableOptionTakesOneWordEachTime) {
  EXPECT_TRUE(parse({"--dtype", "a=int4", "w.npz", "--dtype=b=int2"}));
  EXPECT_THAT(types_, ElementsAre("a=int4", "b=int2"));
  EXPECT_EQ(source_, "w.npz");
}

TEST_F(CommandTest, TheLastOfAnOptionCounts) {
  EXPECT_TRUE(parse({"--views", "npy", "w.npz", "--views", "raw", "-l", "-l"}));
  EXPECT_EQ(views_, "raw");
}

TEST_F(CommandTest, LeavesBracketsToGlobs) {
  EXPECT_TRUE(parse({"w.npz", "[ab]", "[a,b]*", "[a,b]"}));
  EXPECT_THAT(globs_, ElementsAre("[ab]", "[a,b]*", "[a,b]"));
}

TEST_F(CommandTest, TakesEverythingAfterTwoDashesForArguments) {
  EXPECT_TRUE(parse({"--", "-w.npz", "-l"}));
  EXPECT_EQ(source_, "-w.npz");
  EXPECT_THAT(globs_, ElementsAre("-l"));
  EXPECT_FALSE(is_long_);
}

TEST_F(CommandTest, NamesAnOptionItDoesntKnow) {
  EXPECT_THAT(
      [&] {
        parse({"w.npz", "--view=x"});
      },
      ThrowsMessage<UsageError>(AllOf(HasSubstr("'--view'"), HasSubstr("--views"))));
  EXPECT_THAT(
      [&] {
        parse({"w.npz", "-x"});
      },
      ThrowsMessage<UsageError>(AllOf(HasSubstr("'-x'"), HasSubstr("--help"))));
}

TEST_F(CommandTest, SaysThatAValueIsMissing) {
  EXPECT_THAT(
      [&] {
        parse({"w.npz", "--views"});
      },
      ThrowsMessage<UsageError>(HasSubstr("--views")));
}

TEST_F(CommandTest, NamesASurplusArgument) {
  Command command("umount", "umount MOUNTPOINT", "");
  std::string mountpoint;
  command.argument("MOUNTPOINT", mountpoint, "");
  const std::vector<std::string> words = {"a", "b"};
  EXPECT_THAT([&] { command.parse(words, out_); },
              ThrowsMessage<UsageError>(HasSubstr("'b' is one argument too many")));
}

TEST_F(CommandTest, HelpBeginsWithTheUsageAndListsTheOptions) {
  EXPECT_FALSE(parse({"--help"}));
  EXPECT_THAT(
      out_.str(),
      AllOf(testing::StartsWith("usage: npyfs ls [OPTIONS] SOURCE [GLOB...]\n\nLists arrays.\n"),
            HasSubstr("  -l,--long "), HasSubstr("  --views LIST "),
            HasSubstr("  --dtype GLOB=TYPE "), Not(HasSubstr("TEXT"))));
}

}  // namespace
}  // namespace npyfs
