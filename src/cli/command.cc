#include "cli/command.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <ostream>
#include <utility>

#include "cli/usage.h"
#include "cli/values.h"

namespace npyfs {
namespace {

constexpr std::size_t kColumn = 26;  // where descriptions begin

// CLI11 takes a word "[abc]" for a list of its own, but it is a glob. This mark in front hides it.
constexpr char kHidden = '\x01';

std::string hide_brackets(const std::string& word) {
  return word.starts_with('[') && word.ends_with(']') ? kHidden + word : word;
}

void show_brackets(std::string& value) {
  if (value.starts_with(kHidden)) {
    value.erase(0, 1);
  }
}

class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) {
    column_width(kColumn);
    label("Positionals", "arguments");
  }

  std::string make_description(const CLI::App*) const override {
    return "usage: npyfs " + usage_ + "\n";
  }
  std::string make_usage(const CLI::App* app, std::string) const override {
    return "\n" + app->get_description() + "\n";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_name().empty() ? "" : " " + option->get_type_name();
  }
  std::string make_footer(const CLI::App* app) const override {
    return app->get_footer().empty() ? "" : app->get_footer() + "\n";
  }

 private:
  std::string usage_;
};

}  // namespace

Command::Command(std::string verb, std::string usage, std::string text)
    : verb_(std::move(verb)), app_(std::move(text), "npyfs " + verb_) {
  app_.formatter(std::make_shared<HelpFormatter>(std::move(usage)));
  app_.set_help_flag("-h,--help", "show this text")->group("options");
  app_.option_defaults()->group("options");
  app_.allow_extras();
}

void Command::flag(const std::string& names, bool& value, const std::string& description) {
  app_.add_flag(names, value, description)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void Command::option(const std::string& names, const std::string& type, std::string& value,
                     const std::string& description) {
  app_.add_option(names, value, description)
      ->type_name(type)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->check([](const std::string& given) { return given.empty() ? "needs a value" : ""; });
  values_.push_back(&value);
}

void Command::repeatable(const std::string& names, const std::string& type,
                         std::vector<std::string>& values, const std::string& description) {
  app_.add_option(names, values, description)->type_name(type)->allow_extra_args(false);
  lists_.push_back(&values);
}

void Command::argument(const std::string& name, std::string& value,
                       const std::string& description) {
  app_.add_option(name, value, description)->type_name("");
  values_.push_back(&value);
}

void Command::arguments(const std::string& name, std::vector<std::string>& values,
                        const std::string& description) {
  app_.add_option(name, values, description)->type_name("");
  lists_.push_back(&values);
}

std::vector<std::string> Command::option_names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

void Command::refuse(const std::string& what) const {
  throw UsageError(verb_ + ": " + what + "; 'npyfs " + verb_ + " --help' shows the usage");
}

void Command::refuse_surplus(const std::string& word) const {
  if (word.size() < 2 || word[0] != '-') {
    refuse("'" + word + "' is one argument too many");
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string near = did_you_mean(name, option_names());
  if (!near.empty()) {
    throw UsageError(verb_ + ": there is no option '" + name + "'" + near);
  }
  refuse("there is no option '" + name + "'");
}

void Command::require(const std::string& name, const std::string& value) const {
  if (value.empty()) {
    refuse("no " + name + " given");
  }
}

void Command::restore_brackets() const {
  for (std::string* value : values_) {
    show_brackets(*value);
  }
  for (std::vector<std::string>* list : lists_) {
    std::ranges::for_each(*list, show_brackets);
  }
}

bool Command::parse(std::span<const std::string> words, std::ostream& out) {
  std::vector<std::string> reversed;
  std::transform(words.rbegin(), words.rend(), std::back_inserter(reversed), hide_brackets);
  try {
    app_.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    out << app_.help();
    return false;
  } catch (const CLI::ParseError& e) {
    refuse(e.what());
  }
  restore_brackets();
  for (const std::string& word : app_.remaining()) {
    if (word != "--") {  // which CLI11 counts among them
      refuse_surplus(word);
    }
  }
  return true;
}

ReadingOptions::ReadingOptions(Command& command) {
  command.option("--split", "CHAR", split_,
                 "make directories of array keys at this character: with\n"
                 "'.' layer.0.w is shown as layer/0/w");
  command.repeatable("--dtype", "GLOB=TYPE", types_,
                     "element type of the arrays whose key matches, where a\n"
                     "header doesn't tell: '*.weight=float8_e4m3fn'; may be\n"
                     "given again, the first that matches counts");
}

LoadOptions ReadingOptions::options() const {
  LoadOptions options;
  if (!split_.empty()) {
    options.split = parse_split("--split", split_);
  }
  for (const std::string& type : types_) {
    options.types.push_back(parse_type_rule("--dtype", type));
  }
  return options;
}

}  // namespace npyfs
