// muster backup: runs on the controller, through the controller's own program.
//
// It is not a call: whoever may make calls must not get the authority's key this way, and a restore
// needs a controller that is not running.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/context.h"
#include "cli/verbs/verbs.h"
#include "common/base/status.h"

namespace muster::cli {
namespace {

constexpr char kProgram[] = "musterd";

struct BackupArguments {
  std::string file, passphrase_file, settings = "/etc/muster/controller.yaml";
  bool without_keys = false, force = false;
};

// Replaces this process with `musterd backup`, which has the terminal to ask for the passphrase.
// Returns only on failure.
absl::StatusOr<int> Become(const std::string& verb, const BackupArguments& arguments) {
  std::vector<std::string> words = {kProgram, "backup", verb, "--settings", arguments.settings};
  if (!arguments.passphrase_file.empty()) {
    words.push_back("--passphrase-file");
    words.push_back(arguments.passphrase_file);
  }
  if (arguments.without_keys) words.push_back("--without-keys");
  if (arguments.force) words.push_back("--force");
  words.push_back(arguments.file);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(kProgram, argv.data());
  if (errno == ENOENT)
    return absl::NotFoundError(
        "musterd is not installed on this machine: make and restore backups on the controller");
  return ErrnoStatus(errno, "starting musterd");
}

void AddBackupVerb(CLI::App& backup, Context& context, const std::string& verb,
                   const std::string& text) {
  CLI::App* command = backup.add_subcommand(verb, text);
  auto arguments = std::make_shared<BackupArguments>();
  command->add_option("file", arguments->file, "The backup")->required()->type_name("FILE");
  command
      ->add_option(
          "--passphrase-file", arguments->passphrase_file,
          "File whose first line protects the cluster's keys (default: ask on the terminal)")
      ->type_name("FILE");
  command
      ->add_option("--settings", arguments->settings,
                   "The controller's settings (default /etc/muster/controller.yaml)")
      ->type_name("FILE");
  if (verb == "create")
    command->add_flag("--without-keys", arguments->without_keys,
                      "Leave out the authority's key and the key of the secrets");
  if (verb == "restore")
    command->add_flag("--force", arguments->force,
                      "Restore even over a store that is newer than the backup");
  SetAction(command, context, [verb, arguments] { return Become(verb, *arguments); });
}

}  // namespace

void AddBackup(CLI::App& app, Context& context) {
  CLI::App* backup =
      app.add_subcommand("backup", "Back up and restore the controller; run on it, as root");
  backup->require_subcommand(1);
  AddBackupVerb(*backup, context, "create", "Write a backup; musterd may be running");
  AddBackupVerb(*backup, context, "verify", "Verify that a backup is intact and can be restored");
  AddBackupVerb(*backup, context, "restore",
                "Restore a backup; musterd must be stopped; the old state is kept");
}

}  // namespace muster::cli
