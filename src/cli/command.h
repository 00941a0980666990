// The command line of one verb: CLI11 with help and errors in the words of npyfs.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "npyfs/tree/load.h"

namespace npyfs {

class Command {
 public:
  // `usage`: what follows "npyfs " on the first line of the help. `text`: the paragraphs below it.
  Command(std::string verb, std::string usage, std::string text);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // Sets `value` if the option is given. Where it is given twice, the last one counts.
  void flag(const std::string& names, bool& value, const std::string& description);
  void option(const std::string& names, const std::string& type, std::string& value,
              const std::string& description);
  // Collects all that are given.
  void repeatable(const std::string& names, const std::string& type,
                  std::vector<std::string>& values, const std::string& description);

  // Arguments without a name, in this order; only the last may be a list.
  void argument(const std::string& name, std::string& value, const std::string& description);
  void arguments(const std::string& name, std::vector<std::string>& values,
                 const std::string& description);

  // Below the options.
  void footer(const std::string& text) { app_.footer(text); }

  // Fills what was registered. False if it printed the help instead, to `out`. Throws UsageError
  // for options that aren't known, have no value, or a surplus argument.
  bool parse(std::span<const std::string> words, std::ostream& out);

  // Throws UsageError with the way out: "npyfs ls: no SOURCE; …".
  [[noreturn]] void refuse(const std::string& what) const;

  // Throws UsageError unless `value` was given.
  void require(const std::string& name, const std::string& value) const;

 private:
  std::vector<std::string> option_names() const;
  [[noreturn]] void refuse_surplus(const std::string& word) const;

  void restore_brackets() const;

  std::string verb_;
  CLI::App app_;
  std::vector<std::string*> values_;  // what was registered
  std::vector<std::vector<std::string>*> lists_;
};

// --split and --dtype, which all verbs that read a source take.
class ReadingOptions {
 public:
  explicit ReadingOptions(Command& command);

  // Once parsed. Throws UsageError.
  LoadOptions options() const;

 private:
  std::string split_;
  std::vector<std::string> types_;
};

}  // namespace npyfs
