#include "cli/run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <new>
#include <ostream>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include "npyfs/base/error.h"

#include "cli/output.h"
#include "cli/usage.h"
#include "cli/verbs.h"

namespace npyfs {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

struct Verb {
  std::string_view name;
  int (*run)(Words words, std::ostream& out, std::ostream& err);
};

constexpr std::array<Verb, 6> kVerbs = {{{"mount", mount_verb},
                                         {"umount", umount_verb},
                                         {"ls", ls_verb},
                                         {"info", info_verb},
                                         {"cat", cat_verb},
                                         {"extract", extract_verb}}};

constexpr std::string_view kHelp =
    "usage: npyfs VERB [OPTIONS] ...\n"
    "\n"
    "Shows the arrays in a .npz, a .npy or a directory of such as files.\n"
    "\n"
    "  npyfs mount SOURCE MOUNTPOINT         show them as a read-only filesystem\n"
    "  npyfs umount MOUNTPOINT...            end that\n"
    "\n"
    "without FUSE:\n"
    "  npyfs ls [-l] [--json] SOURCE [GLOB...]    list arrays\n"
    "  npyfs info [--json] SOURCE [NAME...]       tell about the source, or about arrays\n"
    "  npyfs info --stats SOURCE NAME...          look at the values of arrays\n"
    "  npyfs cat SOURCE PATH...                   write files of the mount to standard output\n"
    "  npyfs extract SOURCE DIR [GLOB...]         copy arrays out as files\n"
    "\n"
    "'npyfs VERB --help' shows the options of each. Without a verb, 'npyfs SOURCE MOUNTPOINT\n"
    "[-o OPTIONS]' mounts, as mount(8) and fstab call it.\n"
    "\n"
    "options:\n"
    "  -h,--help                 show this text\n"
    "  --version                 show the versions of npyfs and its libraries\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

bool is_helper_name(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return name == "mount.fuse.npyfs" || name == "mount.npyfs";
}

bool exists(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0;
}

// The first word is no verb: it is a source to mount, unless it looks like a verb with a slip in
// it.
int run_without_verb(Words words, std::ostream& out, std::ostream& err) {
  const std::string& first = words.front();
  if (!exists(first)) {
    std::vector<std::string> verbs;
    verbs.reserve(kVerbs.size());
    for (const Verb& verb : kVerbs) {
      verbs.emplace_back(verb.name);
    }
    const std::string near = did_you_mean(first, verbs);
    if (!near.empty()) {
      throw UsageError("there is no verb '" + first + "', and no such file" + near);
    }
  }
  return mount_verb(words, out, err);
}

int dispatch(std::span<const std::string> words, std::ostream& out, std::ostream& err) {
  if (!words.empty() && is_helper_name(words.front())) {
    return mount_helper(words.subspan(1), out, err);
  }
  if (words.size() < 2) {
    err << kHelp;
    return kWrongUsage;
  }
  const std::string& first = words[1];
  if (first == "--help" || first == "-h" || first == "help") {
    out << kHelp;
    return 0;
  }
  if (first == "--version") {
    out << version_text();
    return 0;
  }
  const auto verb = std::ranges::find(kVerbs, first, &Verb::name);
  return verb != kVerbs.end() ? verb->run(words.subspan(2), out, err)
                              : run_without_verb(words.subspan(1), out, err);
}

}  // namespace

int run(std::span<const std::string> words, std::ostream& out, std::ostream& err) {
  try {
    const int status = dispatch(words, out, err);
    out.flush();
    return status;
  } catch (const OutputError& e) {
    if (e.errno_value() != EPIPE) {  // who closed a pipe has read enough
      err << "npyfs: " << e.what() << '\n';
    }
    return kFailed;
  } catch (const UsageError& e) {
    err << "npyfs: " << e.what() << '\n';
    return kWrongUsage;
  } catch (const std::bad_alloc&) {
    err << "npyfs: out of memory\n";
    return kFailed;
  } catch (const std::exception& e) {
    err << "npyfs: " << e.what() << '\n';
    return kFailed;
  }
}

}  // namespace npyfs
