// muster help: the documentation, without a browser and without the network.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "cli/context.h"
#include "cli/render/help_topics.h"
#include "cli/verbs/verbs.h"
#include "common/base/status.h"

namespace muster::cli {

void AddHelp(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("help", "Pages of the documentation: muster help package");
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("topic", *words, "A page or a section; default: list them")
      ->type_name("TOPIC");
  SetAction(command, context, [words]() -> absl::StatusOr<int> {
    if (words->empty()) {
      std::cout << ListHelp();
      return kExitClean;
    }
    ASSIGN_OR_RETURN(const std::string text, FindHelp(absl::StrJoin(*words, " ")));
    std::cout << text << std::flush;
    return kExitClean;
  });
}

}  // namespace muster::cli
