#include "cli/usage_hint.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "common/base/nearest_word.h"

namespace muster::cli {

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

}  // namespace muster::cli
