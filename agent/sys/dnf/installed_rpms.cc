#include "agent/sys/dnf/installed_rpms.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/sys/dnf/dnf_arguments.h"
#include "agent/sys/dnf/dnf_output.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

constexpr char kHistory[] = "/var/lib/dnf/history.sqlite";

// What changes when one of the files does.
std::string StateOf(const std::vector<std::string>& paths, sys::FileSystem& files) {
  std::string state;
  for (const std::string& path : paths) {
    const auto stat = files.Stat(path);
    if (stat.ok() && stat->has_value())
      absl::StrAppend(&state, path, " ", (*stat)->modified_ns, " ", (*stat)->size, "\n");
  }
  return state;
}

}  // namespace

InstalledRpms::InstalledRpms(sys::FileSystem& files, sys::ProcessRunner& processes,
                             std::string work_folder)
    : files_(files), processes_(processes), work_folder_(std::move(work_folder)) {}

absl::StatusOr<std::string> InstalledRpms::Folder() {
  absl::MutexLock lock(&mutex_);
  if (folder_.empty()) {
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     sys::RunChecked(processes_, {.argv = {"rpm", "--eval", "%{_dbpath}"}}));
    const std::string folder(absl::StripAsciiWhitespace(result.out));
    if (!absl::StartsWith(folder, "/"))
      return absl::FailedPreconditionError(
          absl::StrCat("rpm names '", folder, "' as the folder of its database (%{_dbpath})"));
    folder_ = folder;
  }
  return folder_;
}

absl::StatusOr<InstalledRpms::Database> InstalledRpms::Read() {
  ASSIGN_OR_RETURN(const std::string folder, Folder());
  std::vector<std::string> paths;
  for (const char* name : {"/rpmdb.sqlite", "/rpmdb.sqlite-wal", "/Packages", "/Packages.db"})
    paths.push_back(absl::StrCat(folder, name));
  const std::string state = StateOf(paths, files_);
  absl::MutexLock lock(&mutex_);
  if (database_ == nullptr || state != database_state_) {
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     sys::RunChecked(processes_, {.argv = {"rpm", "--query", "--all",
                                                           "--queryformat", RpmDatabase::kFormat},
                                                  .max_output = kMaxQueryOutput}));
    database_ = std::make_shared<const RpmDatabase>(RpmDatabase::Parse(result.out));
    database_state_ = state;
  }
  return database_;
}

std::map<std::string, std::string> InstalledRpms::Unfinished(const RpmDatabase& database) {
  std::vector<std::string> last;
  const std::string state = StateOf({kHistory, absl::StrCat(kHistory, "-wal")}, files_);
  {
    absl::MutexLock lock(&mutex_);
    if (state != history_state_) {
      // Fails where there is no transaction yet.
      const auto result = processes_.Run({.argv = DnfQuery({"history", "info", "last"})});
      history_ =
          result.ok() && result->ok() ? ParseUnfinished(result->out) : std::vector<std::string>();
      history_state_ = state;
    }
    last = history_;
  }
  std::map<std::string, std::string> unfinished;
  for (const std::string& nevra : last)
    if (const RpmPackage* package = database.FindNevra(nevra); package != nullptr)
      unfinished[nevra] = package->transaction;
  const auto record = files_.Read(absl::StrCat(work_folder_, "/unfinished"));
  if (!record.ok()) return unfinished;
  for (const absl::string_view line : absl::StrSplit(*record, '\n')) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line, absl::MaxSplits('\t', 1));
    const RpmPackage* package = database.FindNevra(parts.first);
    // Installed again since: whoever did that has finished it.
    if (package != nullptr && package->transaction == parts.second) unfinished.insert(parts);
  }
  return unfinished;
}

absl::Status InstalledRpms::RecordUnfinished(const RpmDatabase& database) {
  const std::string path = absl::StrCat(work_folder_, "/unfinished");
  std::string text;
  for (const auto& [nevra, transaction] : Unfinished(database))
    absl::StrAppend(&text, nevra, "\t", transaction, "\n");
  if (files_.Read(path).value_or("") == text) return absl::OkStatus();
  RETURN_IF_ERROR(files_.MakeDirectory(work_folder_, 0700));
  return files_.WriteAtomically(path, text, {.mode = 0600});
}

}  // namespace muster::agent
