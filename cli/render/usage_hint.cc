#include "cli/render/usage_hint.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "common/base/text/nearest_word.h"

namespace muster::cli {
namespace {

// "--output=json" and "-ojson" contain their value.
bool HoldsValue(const std::string& word) {
  return word[1] == '-' ? word.find('=') != std::string::npos : word.size() > 2;
}

// The option of `command`, or of a verb above it, that `word` names; nullptr: none.
const CLI::Option* FindOption(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word[1] == '-' ? word.find('=') : 2);
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) {
    if (const CLI::Option* option = at->get_option_no_throw(name); option != nullptr) return option;
  }
  return nullptr;
}

// "muster run" for the verb below it.
std::string PathOf(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : PathOf(*parent) + " " + command.get_name();
}

}  // namespace

std::string OptionHint(const CLI::App& command, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent())
    for (const CLI::Option* option : at->get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (const std::string& each : words) {
    if (each == "--") break;
    const std::string word = each.substr(0, each.find('='));
    if (word.size() > 2 && word.compare(0, 2, "--") == 0 &&
        std::find(known.begin(), known.end(), word) == known.end())
      return DidYouMean(word, known);
  }
  return "";
}

std::string UnknownCommand(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (size_t i = 0; i < words.size() && command->get_require_subcommand_min() > 0; ++i) {
    const std::string& word = words[i];
    if (word.empty() || word == "-" || word == "--") return "";
    if (word[0] == '-') {
      const CLI::Option* option = FindOption(*command, word);
      if (option == nullptr) return "";
      if (option->get_items_expected_min() > 0 && !HoldsValue(word)) ++i;
      continue;
    }
    std::vector<std::string> verbs;
    const CLI::App* next = nullptr;
    for (const CLI::App* sub : command->get_subcommands(nullptr)) {
      verbs.push_back(sub->get_name());
      if (sub->get_name() == word) next = sub;
    }
    if (next == nullptr)
      return "unknown command '" + word + "'" + DidYouMean(word, verbs) + "; see " +
             PathOf(*command) + " --help";
    command = next;
  }
  return "";
}

}  // namespace muster::cli
