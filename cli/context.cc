#include "cli/context.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <utility>

#include "cli/connection.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace muster::cli {

Context::Context() = default;
Context::~Context() = default;

absl::StatusOr<Connection*> Context::Connect() {
  if (connection_ == nullptr) {
    ASSIGN_OR_RETURN(connection_, Connection::Open(config_directory, clock->Now()));
  }
  return connection_.get();
}

void SetAction(CLI::App* command, Context& context, std::function<absl::StatusOr<int>()> run) {
  command->callback([&context, run = std::move(run)] {
    const absl::StatusOr<int> code = run();
    if (code.ok()) {
      context.exit_code = *code;
      return;
    }
    std::cout.flush();
    std::cerr << "muster: " << code.status().message() << std::endl;
    context.exit_code = kExitError;
  });
}

}  // namespace muster::cli
