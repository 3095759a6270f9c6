#include "cli/context.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/connection.h"
#include "cli/render/plain_text.h"
#include "cli/shared_folder.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "common/sys/file_system.h"

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
    const auto certificate = pki::ParseCertificate(connection_->certificate_pem());
    if (certificate.ok()) {
      WarnOfSharedFolder(connection_->folder(),
                         absl::StripPrefix(certificate->organization, "muster:"));
    }
  }
  return connection_.get();
}

void Context::WarnOfSharedFolder(const std::string& folder, absl::string_view role) {
  sys::RealFileSystem files;
  const std::string warning = SharedFolderWarning(folder, FileSystemTypeOf(folder, files), role);
  if (warning.empty() || folder == warned_of_) return;
  warned_of_ = folder;
  std::cerr << "muster: warning: " << Tame(warning) << "\n";
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
