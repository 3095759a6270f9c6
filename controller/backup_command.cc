#include "controller/backup_command.h"

#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/nearest_word.h"
#include "controller/backup/backup.h"
#include "controller/backup/backup_leftovers.h"

namespace muster::controller {
namespace {

struct Arguments {
  std::string verb, file, passphrase_file;
  std::string settings = "/etc/muster/controller.yaml";
  bool without_keys = false, force = false;
};

absl::StatusOr<Arguments> Parse(absl::Span<char* const> arguments) {
  Arguments parsed;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const absl::string_view word = arguments[i];
    if (word == "--without-keys") {
      parsed.without_keys = true;
    } else if (word == "--force") {
      parsed.force = true;
    } else if ((word == "--settings" || word == "--passphrase-file") && i + 1 < arguments.size()) {
      (word == "--settings" ? parsed.settings : parsed.passphrase_file) = arguments[++i];
    } else if (word.substr(0, 1) == "-") {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown or incomplete argument '", word, "'",
          DidYouMean(word, {"--settings", "--passphrase-file", "--without-keys", "--force"})));
    } else if (parsed.verb.empty()) {
      parsed.verb = std::string(word);
    } else if (parsed.file.empty()) {
      parsed.file = std::string(word);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("expected one FILE, not also '", word, "'"));
    }
  }
  if (parsed.verb != "create" && parsed.verb != "verify" && parsed.verb != "restore")
    return absl::InvalidArgumentError("expected create, verify or restore");
  if (parsed.file.empty()) return absl::InvalidArgumentError("FILE is missing");
  return parsed;
}

std::string AskHidden(const char* prompt) {
  termios shown;
  tcgetattr(STDIN_FILENO, &shown);
  termios hidden = shown;
  hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  std::cerr << prompt;
  std::string line;
  std::getline(std::cin, line);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
  std::cerr << "\n";
  return line;
}

// nullopt: continue without the keys.
absl::StatusOr<std::optional<SecretBuffer>> Passphrase(const Arguments& arguments) {
  if (arguments.without_keys) return std::optional<SecretBuffer>();
  std::string line;
  if (!arguments.passphrase_file.empty()) {
    std::ifstream file(arguments.passphrase_file, std::ios::binary);
    if (!std::getline(file, line))
      return absl::NotFoundError(
          absl::StrCat("no passphrase can be read from ", arguments.passphrase_file));
    return std::optional<SecretBuffer>(SecretBuffer(std::move(line)));
  }
  if (isatty(STDIN_FILENO) == 0) {
    if (arguments.verb != "create") return std::optional<SecretBuffer>();
    return absl::FailedPreconditionError(
        "a backup with the cluster's keys needs a passphrase, and there is no terminal to ask on: "
        "pass --passphrase-file FILE, or --without-keys to leave the keys out");
  }
  if (arguments.verb != "create") {
    line = AskHidden("Passphrase of the keys (none: they stay sealed): ");
    if (line.empty()) return std::optional<SecretBuffer>();
    return std::optional<SecretBuffer>(SecretBuffer(std::move(line)));
  }
  line = AskHidden("Passphrase for the cluster's keys: ");
  if (AskHidden("Repeat the passphrase: ") != line)
    return absl::InvalidArgumentError("the two passphrases differ");
  return std::optional<SecretBuffer>(SecretBuffer(std::move(line)));
}

std::string Describe(const BackupSummary& summary) {
  return absl::StrCat("  cluster ", summary.cluster, ", ", summary.created_at, ", musterd ",
                      summary.musterd_version, "\n  ", Counted(summary.nodes, "node"), ", ",
                      Counted(summary.secrets, "secret"), ", ", summary.audit_entries,
                      summary.audit_entries == 1 ? " audit entry, " : " audit entries, ",
                      Counted(summary.blobs, "content"), ", ", (summary.bytes + 1023) / 1024,
                      " KiB\n");
}

}  // namespace

absl::Status RunBackupCommand(absl::Span<char* const> words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Parse(words));
  BackupOptions options;
  options.config_path = arguments.settings;
  options.force = arguments.force;
  ASSIGN_OR_RETURN(options.passphrase, Passphrase(arguments));
  RealClock clock;
  const CleanEnd clean_end;
  if (arguments.verb == "create") {
    ASSIGN_OR_RETURN(const BackupSummary summary, CreateBackup(arguments.file, options, clock));
    std::cout << "wrote " << arguments.file << "\n"
              << Describe(summary)
              << (summary.has_keys
                      ? "  it contains the authority's key and the key of the secrets, sealed with "
                        "the passphrase\n"
                      : "  WITHOUT the keys: keep copies of ca.key, controller.key and secret_key "
                        "elsewhere,\n  the backup is useless without them\n");
    return absl::OkStatus();
  }
  if (arguments.verb == "verify") {
    ASSIGN_OR_RETURN(const BackupSummary summary, VerifyBackup(arguments.file, options));
    std::cout << arguments.file << " is intact: every digest, the store and its audit log\n"
              << Describe(summary)
              << (summary.keys_opened ? "  nobody has changed it since it was made; the "
                                        "authority's key matches and every secret opens\n"
                  : summary.has_keys
                      ? "  keys: sealed, not checked; the passphrase would also prove that nobody "
                        "has\n  changed the backup\n"
                      : "  keys: none, so nothing proves that nobody has changed the backup\n");
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const BackupSummary summary, RestoreBackup(arguments.file, options, clock));
  std::cout << "restored\n" << Describe(summary);
  if (!summary.old_state.empty())
    std::cout << "  the earlier state is in " << summary.old_state << "\n";
  if (summary.ended_runs > 0)
    std::cout << "  runs in progress at that time, now ended: " << summary.ended_runs << "\n";
  if (summary.ended_validations > 0)
    std::cout << "  validations in progress at that time, now ended: " << summary.ended_validations
              << "\n";
  if (summary.halted_rollouts > 0)
    std::cout << "  rollouts open at that time, now halted: " << summary.halted_rollouts
              << "; see muster rollout list\n";
  if (summary.removed_boot_orders > 0)
    std::cout
        << "  orders of that time to boot an image, now taken back: " << summary.removed_boot_orders
        << "; see muster audit list, boot.clear, and repeat what is still wanted: muster boot "
           "set\n";
  std::cout
      << "Next: systemctl start musterd, muster node list, and `muster apply` to bring the\n"
         "nodes to what the playbooks say now. Repeat the revocations made since the backup.\n";
  return absl::OkStatus();
}

}  // namespace muster::controller
