#include "cli/context.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/plain_text.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace muster::cli {
namespace {

// "node remove", without the program's name.
std::string VerbOf(const CLI::App& command) {
  std::string verb = command.get_name();
  for (const CLI::App* at = command.get_parent(); at != nullptr && at->get_parent() != nullptr;
       at = at->get_parent()) {
    verb = absl::StrCat(at->get_name(), " ", verb);
  }
  return verb;
}

}  // namespace

Context::Context() = default;
Context::~Context() = default;

absl::StatusOr<Connection*> Context::Connect() {
  if (connection_ == nullptr) {
    ASSIGN_OR_RETURN(connection_, Connection::Open(config_directory, clock->Now()));
    connection_->set_verb(verb);
  }
  return connection_.get();
}

void SetAction(CLI::App* command, Context& context, std::function<absl::StatusOr<int>()> run) {
  command->callback([&context, command, run = std::move(run)] {
    context.verb = VerbOf(*command);
    const absl::StatusOr<int> code = run();
    if (code.ok()) {
      context.exit_code = *code;
      return;
    }
    std::cout.flush();
    std::cerr << "muster: " << Tame(code.status().message()) << std::endl;
    context.exit_code = kExitError;
  });
}

}  // namespace muster::cli
