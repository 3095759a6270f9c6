#include "agent/sys/apt/apt_package_manager.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/sys/apt/apt_arguments.h"
#include "agent/sys/package_patience.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"

namespace muster::agent {
namespace {

constexpr char kStatusFile[] = "/var/lib/dpkg/status";
constexpr char kJournalFolder[] = "/var/lib/dpkg/updates";
constexpr char kSourcesFile[] = "/etc/apt/sources.list";
constexpr char kSourcesFolder[] = "/etc/apt/sources.list.d";
constexpr char kListsFolder[] = "/var/lib/apt/lists";
constexpr size_t kMaxListing = size_t{4} << 20;  // bytes of a program's output

// The last state of a progress display that overwrites itself, in a file.
absl::string_view LastDisplay(absl::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const size_t overwritten = line.rfind('\r');
  return overwritten == absl::string_view::npos ? line : line.substr(overwritten + 1);
}

}  // namespace

AptPackageManager::AptPackageManager(sys::FileSystem& files, sys::ProcessRunner& processes,
                                     Clock& clock, AptOptions options)
    : files_(files),
      processes_(processes),
      clock_(clock),
      options_(std::move(options)),
      age_(files, clock, absl::StrCat(options_.work_folder, "/updated"), kSourcesFile,
           kSourcesFolder),
      marks_(files, options_.work_folder) {}

absl::StatusOr<std::shared_ptr<const DpkgStatus>> AptPackageManager::ReadStatus() {
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files_.Stat(kStatusFile));
  if (!stat.has_value())
    return absl::FailedPreconditionError(
        absl::StrCat("no ", kStatusFile, ": packages require a node with dpkg and apt"));
  absl::MutexLock lock(&cache_mutex_);
  if (cache_ == nullptr || stat->modified_ns != cache_modified_ns_ || stat->size != cache_size_) {
    ASSIGN_OR_RETURN(const std::string text, files_.Read(kStatusFile));
    cache_ = std::make_shared<const DpkgStatus>(DpkgStatus::Parse(text));
    cache_modified_ns_ = stat->modified_ns;
    cache_size_ = stat->size;
  }
  return cache_;
}

absl::StatusOr<std::map<std::string, PackageStatus>> AptPackageManager::Query(
    const std::vector<std::string>& names, bool with_candidates) {
  for (const std::string& name : names) RETURN_IF_ERROR(CheckAptName(name));
  TryToRestoreMarks();
  ASSIGN_OR_RETURN(const std::shared_ptr<const DpkgStatus> status, ReadStatus());
  std::map<std::string, AptPolicy> policies;
  if (with_candidates && !names.empty()) {
    std::vector<std::string> argv = {"apt-cache", "policy", "--"};
    argv.insert(argv.end(), names.begin(), names.end());
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     sys::RunChecked(processes_, {.argv = argv, .max_output = kMaxListing}));
    policies = ParsePolicy(result.out);
  }
  std::map<std::string, PackageStatus> found;
  for (const std::string& name : names) {
    const std::string version = status->InstalledVersion(name);
    found[name] = {.installed = !version.empty(),
                   .provided = status->IsProvided(name),
                   .half_done = version.empty() && absl::c_linear_search(status->half_done(), name),
                   .held = status->IsHeld(name),
                   .configuration_left = status->HasConfigurationOnly(name),
                   .version = version,
                   .candidate = policies[name].candidate,
                   .available = policies[name].versions};
  }
  return found;
}

bool AptPackageManager::ListsAreOlderThan(absl::Duration max_age) {
  return age_.IsOver(max_age) || !HasLists();
}

// Image builders delete them.
bool AptPackageManager::HasLists() {
  const auto lists = files_.List(kListsFolder);
  return lists.ok() && std::any_of(lists->begin(), lists->end(), [](const std::string& name) {
           return absl::StrContains(name, "_Packages");
         });
}

uint64_t AptPackageManager::SizeOf(const std::map<std::string, std::string>& versions) {
  if (versions.empty()) return 0;
  std::vector<std::string> argv = {"apt-cache", "show", "--no-all-versions", "--"};
  for (const auto& [name, version] : versions) argv.push_back(absl::StrCat(name, "=", version));
  const auto shown = processes_.Run({.argv = argv, .max_output = size_t{16} << 20});
  return shown.ok() && shown->ok() ? SumOfSizes(shown->out) : 0;
}

absl::StatusOr<std::vector<PackageUpgrade>> AptPackageManager::OnlySecurity(
    std::vector<PackageUpgrade> upgrades) {
  if (upgrades.empty()) return upgrades;
  std::vector<std::string> argv = {"apt-cache", "madison", "--"};
  for (const PackageUpgrade& upgrade : upgrades) argv.push_back(upgrade.name);
  ASSIGN_OR_RETURN(const sys::ProcessResult result,
                   sys::RunChecked(processes_, {.argv = argv, .max_output = kMaxListing}));
  const auto security = ParseSecurityVersions(result.out);
  std::vector<PackageUpgrade> chosen;
  for (PackageUpgrade& upgrade : upgrades) {
    const auto found = security.find(upgrade.name);
    if (found == security.end()) continue;
    for (const std::string& version : found->second) {
      ASSIGN_OR_RETURN(const bool newer, IsOlder(upgrade.installed, version));
      if (!newer) continue;
      chosen.push_back(std::move(upgrade));
      break;
    }
  }
  return chosen;
}

absl::StatusOr<std::vector<PackageUpgrade>> AptPackageManager::Upgrades(UpgradeScope scope) {
  TryToRestoreMarks();
  ASSIGN_OR_RETURN(const std::shared_ptr<const DpkgStatus> status, ReadStatus());
  ASSIGN_OR_RETURN(
      const sys::ProcessResult result,
      sys::RunChecked(processes_, {.argv = AptGetUpgradeSimulation(), .max_output = kMaxListing}));
  std::vector<PackageUpgrade> upgrades;
  for (auto& [name, version] : ParseSimulation(result.out).installed) {
    std::string installed = status->InstalledVersion(name);
    // What is new comes as a dependency.
    if (!installed.empty()) upgrades.push_back({name, std::move(installed), version});
  }
  return scope == UpgradeScope::kSecurity ? OnlySecurity(std::move(upgrades)) : upgrades;
}

absl::StatusOr<PackagePreview> AptPackageManager::Preview(const PackageTransaction& transaction) {
  PackagePreview preview;
  preview.has_lists = HasLists();
  if (!preview.has_lists) return preview;
  ASSIGN_OR_RETURN(const std::vector<std::string> held, Held(transaction));
  const std::vector<std::string> argv = AptGetSimulation(transaction, !held.empty());
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     processes_.Run({.argv = argv, .max_output = kMaxListing}));
    if (result.ok()) {
      AptSimulation simulation = ParseSimulation(result.out);
      preview.bytes = SizeOf(simulation.installed);
      preview.versions = std::move(simulation.installed);
      preview.removed = std::move(simulation.removed);
      return preview;
    }
    const AptFailure failure = ParseAptFailure(result.output);
    if (failure.unknown.empty()) return preview;
    if (attempt > 1 || !ListsAreOlderThan(kFreshEnough)) return Explain(failure, result);
    RETURN_IF_ERROR(Update(kFreshEnough, {}));
  }
}

absl::Status AptPackageManager::AwaitLock(const PackageObserver& observer) {
  return AwaitPackageLock(options_.find_lock_holder, options_.lock_timeout, clock_, observer);
}

absl::StatusOr<sys::ProcessResult> AptPackageManager::RunTool(std::vector<std::string> argv,
                                                              absl::Duration timeout,
                                                              const PackageObserver& observer) {
  RETURN_IF_ERROR(files_.MakeDirectory(options_.work_folder, 0700));
  sys::ProcessSpec spec = {.argv = std::move(argv),
                           .environment = AptEnvironment(),
                           .timeout = timeout,
                           .on_line =
                               [&observer](absl::string_view line) {
                                 if (observer.on_output) observer.on_output(LastDisplay(line));
                               },
                           .output_file = absl::StrCat(options_.work_folder, "/output")};
  // apt-get repeats itself ten times a second; only news for a reader is passed on. The callback is
  // set in any case, because apt-get insists on its descriptor.
  std::string said;
  spec.on_status_line = [&observer, &said](absl::string_view line) {
    const auto progress = ParseAptProgress(line);
    if (!progress.has_value() || !observer.on_activity) return;
    std::string now = absl::StrCat(progress->activity, static_cast<int>(progress->percent));
    if (std::exchange(said, now) != now)
      observer.on_activity(progress->activity, progress->percent);
  };
  return processes_.Run(spec);
}

absl::StatusOr<bool> AptPackageManager::Repair(const std::string& name,
                                               std::vector<std::string> argv,
                                               const PackageObserver& observer) {
  Tell(observer, name);
  ASSIGN_OR_RETURN(const sys::ProcessResult result,
                   RunTool(std::move(argv), options_.transaction_timeout, observer));
  return result.ok();
}

bool AptPackageManager::IsInterrupted(const DpkgStatus& status) {
  const auto journal = files_.List(kJournalFolder);
  return (journal.ok() && !journal->empty()) || !status.half_done().empty();
}

absl::Status AptPackageManager::RepairInterrupted(const PackageObserver& observer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const DpkgStatus> status, ReadStatus());
  if (!IsInterrupted(*status)) return absl::OkStatus();
  const std::string what = status->half_done().empty()
                               ? ""
                               : absl::StrCat(" of ", absl::StrJoin(status->half_done(), ", "));
  ASSIGN_OR_RETURN(const bool configured,
                   Repair(absl::StrCat("repairing an interrupted package transaction", what,
                                       " (dpkg --configure -a)"),
                          DpkgConfigureAll(), observer));
  // apt-get may finish work that dpkg cannot finish alone, above all a missing dependency.
  return configured ? absl::OkStatus() : FixBroken(observer).status();
}

absl::StatusOr<bool> AptPackageManager::FixBroken(const PackageObserver& observer) {
  return Repair("repairing broken dependencies (apt-get --fix-broken install)", AptGetFixBroken(),
                observer);
}

void AptPackageManager::PauseForServer(int attempt, const PackageObserver& observer) {
  Tell(observer, "a package repository answered with an error; trying again in a moment");
  clock_.Sleep(attempt * kServerPause);
}

absl::Status AptPackageManager::UpdateLists(absl::Duration max_age,
                                            const PackageObserver& observer) {
  if (!ListsAreOlderThan(max_age)) return absl::OkStatus();
  // Without this option apt-get succeeds even if a repository did not answer.
  const std::vector<std::string> argv = AptGet({"update", "-o", "APT::Update::Error-Mode=any"});
  for (int attempt = 1;; ++attempt) {
    Tell(observer, "fetching the lists of the package repositories");
    const absl::Time started = clock_.Now();
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     RunTool(argv, options_.update_timeout, observer));
    if (result.ok()) return age_.Record(started);
    const AptFailure failure = ParseAptFailure(result.output);
    // apt-get itself does not wait for this lock.
    if (failure.remedy == AptRemedy::kWaitForLock && attempt < kMaxAttempts) {
      clock_.Sleep(kLockPoll);
      RETURN_IF_ERROR(AwaitLock(observer));
      continue;
    }
    if (failure.remedy == AptRemedy::kTryAgain && attempt < kMaxAttempts) {
      PauseForServer(attempt, observer);
      continue;
    }
    if (failure.causes.empty() || result.timed_out)
      return Annotate(sys::CheckSuccess(
                          {.argv = {"apt-get update"}, .timeout = options_.update_timeout}, result),
                      "fetching the lists of the package repositories");
    return absl::UnavailableError(absl::StrCat(
        "fetching the lists of the package repositories failed: ", failure.Describe()));
  }
}

absl::Status AptPackageManager::Update(absl::Duration max_age, const PackageObserver& observer) {
  absl::MutexLock lock(&transaction_mutex_);
  if (!ListsAreOlderThan(max_age)) return absl::OkStatus();
  RETURN_IF_ERROR(AwaitLock(observer));
  return UpdateLists(max_age, observer);
}

absl::StatusOr<bool> AptPackageManager::Remedy(const AptFailure& failure,
                                               const PackageObserver& observer) {
  switch (failure.remedy) {
    case AptRemedy::kTryAgain:
      PauseForServer(1, observer);
      return true;
    case AptRemedy::kUpdateLists:
      if (!ListsAreOlderThan(kFreshEnough)) return false;
      RETURN_IF_ERROR(UpdateLists(kFreshEnough, observer));
      return true;
    case AptRemedy::kConfigureAll:
      return Repair("repairing an interrupted package transaction (dpkg --configure -a)",
                    DpkgConfigureAll(), observer);
    case AptRemedy::kFixBroken:
      return FixBroken(observer);
    case AptRemedy::kWaitForLock:
      RETURN_IF_ERROR(AwaitLock(observer));
      return true;
    case AptRemedy::kNone:
      return false;
  }
  return false;
}

std::string AptPackageManager::Explain(const std::string& unknown) {
  const auto known = processes_.Run(
      {.argv = {"apt-cache", "pkgnames", unknown.substr(0, std::min<size_t>(2, unknown.size()))},
       .max_output = kMaxListing});
  std::string hint;
  if (known.ok() && known->ok())
    hint = DidYouMean(unknown, absl::StrSplit(known->out, '\n', absl::SkipEmpty()));
  return absl::StrCat("package '", unknown, "' does not exist in the node's repositories", hint);
}

std::string AptPackageManager::BuildLogOf(const AptFailure& failure) {
  if (failure.build_log.empty()) return "";
  const auto log = files_.Read(failure.build_log);
  if (!log.ok()) return "";
  return absl::StrCat("\nthe end of ", failure.build_log, ":\n", EndOfBuildLog(*log));
}

absl::Status AptPackageManager::Explain(const AptFailure& failure,
                                        const sys::ProcessResult& result) {
  if (failure.unknown.empty()) {
    if (failure.causes.empty() || result.timed_out)
      return sys::CheckSuccess({.argv = {"apt-get"}, .timeout = options_.transaction_timeout},
                               result);
    return absl::InternalError(
        absl::StrCat("apt-get failed: ", failure.Describe(), BuildLogOf(failure)));
  }
  std::vector<std::string> messages;
  for (const std::string& name : failure.unknown) messages.push_back(Explain(name));
  return absl::NotFoundError(
      absl::StrCat(absl::StrJoin(messages, "; "),
                   "; check the name, or add the repository that has it (package_repository)"));
}

absl::StatusOr<std::vector<std::string>> AptPackageManager::Held(
    const PackageTransaction& transaction) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const DpkgStatus> status, ReadStatus());
  std::vector<std::string> held;
  for (const auto* items : {&transaction.install, &transaction.remove})
    for (const std::string& item : *items)
      if (status->IsHeld(NameOf(item))) held.push_back(NameOf(item));
  return held;
}

absl::Status AptPackageManager::Install(const PackageTransaction& transaction,
                                        const PackageObserver& observer) {
  if (!transaction.install.empty())
    RETURN_IF_ERROR(UpdateLists(absl::InfiniteDuration(), observer));
  ASSIGN_OR_RETURN(const std::vector<std::string> held, Held(transaction));
  const std::vector<std::string> argv = AptGetTransaction(transaction, !held.empty());
  std::set<AptRemedy> tried;
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     RunTool(argv, options_.transaction_timeout, observer));
    if (result.ok()) return absl::OkStatus();
    const AptFailure failure = ParseAptFailure(result.output);
    // Each remedy once: it would not help a second time either. But others may take the lock again.
    const bool is_new = tried.insert(failure.remedy).second;
    if (attempt == kMaxAttempts || result.timed_out ||
        (!is_new && failure.remedy != AptRemedy::kWaitForLock))
      return Explain(failure, result);
    ASSIGN_OR_RETURN(const bool helped, Remedy(failure, observer));
    if (!helped) return Explain(failure, result);
  }
}

absl::StatusOr<std::vector<std::string>> AptPackageManager::Dependencies(
    const PackageTransaction& transaction) {
  if (!transaction.only_upgrade || transaction.install.empty()) return std::vector<std::string>();
  std::vector<std::string> argv = {"apt-mark", "showauto", "--"};
  for (const std::string& item : transaction.install) argv.push_back(NameOf(item));
  ASSIGN_OR_RETURN(const sys::ProcessResult result,
                   sys::RunChecked(processes_, {.argv = argv, .max_output = kMaxListing}));
  return absl::StrSplit(result.out, '\n', absl::SkipEmpty());
}

absl::Status AptPackageManager::Mark(const PackageTransaction& transaction, const AptMarks& marks,
                                     const PackageObserver& observer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const DpkgStatus> status, ReadStatus());
  // apt-mark refuses the names of packages that have gone.
  const auto is_there = [&status](const std::string& name) {
    return !status->InstalledVersion(name).empty() ||
           absl::c_linear_search(status->half_done(), name.substr(0, name.find(':')));
  };
  std::vector<std::string> hold = transaction.hold, dependencies;
  for (const std::string& name : marks.held)
    if (!status->IsHeld(name) && is_there(name) &&
        !absl::c_linear_search(transaction.release, name))
      hold.push_back(name);
  absl::c_copy_if(marks.dependencies, std::back_inserter(dependencies), is_there);
  const struct {
    const char* verb;
    const std::vector<std::string>& names;
  } kRows[] = {{"hold", hold}, {"unhold", transaction.release}, {"auto", dependencies}};
  for (const auto& row : kRows) {
    if (row.names.empty()) continue;
    std::vector<std::string> argv = {"apt-mark", row.verb, "--"};
    argv.insert(argv.end(), row.names.begin(), row.names.end());
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     RunTool(argv, options_.update_timeout, observer));
    RETURN_IF_ERROR(sys::CheckSuccess({.argv = {absl::StrCat("apt-mark ", row.verb)}}, result));
  }
  return absl::OkStatus();
}

absl::Status AptPackageManager::RestoreMarks(const PackageObserver& observer) {
  ASSIGN_OR_RETURN(const AptMarks marks, marks_.Read());
  if (marks.empty()) return absl::OkStatus();
  const std::string what = "restoring the marks of packages that an interrupted transaction left";
  Tell(observer, what);
  RETURN_IF_ERROR(
      Annotate(Mark({}, marks, observer), absl::StrCat(what, " (", marks_.path(), ")")));
  return marks_.Remove();
}

void AptPackageManager::TryToRestoreMarks() {
  const absl::StatusOr<AptMarks> marks = marks_.Read();
  if (!marks.ok() || marks->empty()) return;
  if (!transaction_mutex_.TryLock()) return;
  const auto status = ReadStatus();
  // The next transaction repairs first, and tells what is wrong with the marks.
  if (status.ok() && !IsInterrupted(**status) && !options_.find_lock_holder().has_value())
    RestoreMarks({}).IgnoreError();
  transaction_mutex_.Unlock();
}

absl::Status AptPackageManager::Apply(const PackageTransaction& transaction,
                                      const PackageObserver& observer) {
  if (transaction.empty()) return absl::OkStatus();
  absl::MutexLock lock(&transaction_mutex_);
  RETURN_IF_ERROR(AwaitLock(observer));
  RETURN_IF_ERROR(RepairInterrupted(observer));
  RETURN_IF_ERROR(RestoreMarks(observer));
  AptMarks marks;
  ASSIGN_OR_RETURN(marks.held, Held(transaction));
  if (transaction.install.empty() && transaction.remove.empty())
    return Mark(transaction, marks, observer);
  ASSIGN_OR_RETURN(marks.dependencies, Dependencies(transaction));
  if (!marks.empty()) RETURN_IF_ERROR(marks_.Write(marks));
  const absl::Status installed = Install(transaction, observer);
  // Whatever happened to the other packages: those that were held stay so.
  absl::Status marked = Mark(installed.ok() ? transaction : PackageTransaction{}, marks, observer);
  if (marked.ok() && !marks.empty()) marked = marks_.Remove();
  return installed.ok() ? marked : installed;
}

absl::StatusOr<bool> AptPackageManager::IsOlder(const std::string& a, const std::string& b) {
  ASSIGN_OR_RETURN(const sys::ProcessResult result,
                   processes_.Run({.argv = {"dpkg", "--compare-versions", a, "lt", b}}));
  if (result.signal == 0 && !result.timed_out && result.exit_code <= 1)
    return result.exit_code == 0;
  return sys::CheckSuccess({.argv = {"dpkg --compare-versions"}}, result);
}

absl::StatusOr<std::string> AptPackageManager::ModuleStream(const std::string& module) {
  return absl::FailedPreconditionError(absl::StrCat(
      "module '", module,
      "': this node's packages are apt's, which has no module streams; choose versions "
      "by package: {version: …}, or leave the task out by a when:"));
}

absl::Status AptPackageManager::SetModuleStream(const std::string& module,
                                                const std::string& stream,
                                                const PackageObserver& observer) {
  return ModuleStream(module).status();
}

}  // namespace muster::agent
