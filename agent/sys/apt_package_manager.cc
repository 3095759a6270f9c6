#include "agent/sys/apt_package_manager.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/nearest_word.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

constexpr char kStatusFile[] = "/var/lib/dpkg/status";
constexpr char kJournalFolder[] = "/var/lib/dpkg/updates";
constexpr char kSourcesFile[] = "/etc/apt/sources.list";
constexpr char kSourcesFolder[] = "/etc/apt/sources.list.d";
constexpr char kListsFolder[] = "/var/lib/apt/lists";
// After a name was not found the lists are fetched again, unless that has just been done.
constexpr absl::Duration kFreshEnough = absl::Minutes(5);
constexpr absl::Duration kLockPoll = absl::Seconds(1);
// Seconds that apt itself waits, for whoever takes the lock between our look and its own.
constexpr char kAptLockTimeout[] = "120";
constexpr int kMaxAttempts = 4;

std::string Stamp(const std::string& work_folder) { return absl::StrCat(work_folder, "/updated"); }

void Say(const PackageObserver& observer, absl::string_view activity) {
  if (observer.on_activity) observer.on_activity(activity, std::nullopt);
}

// Unattended: keep changed configuration files, ask nothing, wait for the lock.
std::vector<std::string> AptGet(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {"apt-get",
                                   "--yes",
                                   "--quiet",
                                   "-o",
                                   absl::StrCat("APT::Status-Fd=", sys::kStatusFd),
                                   "-o",
                                   "Dpkg::Options::=--force-confdef",
                                   "-o",
                                   "Dpkg::Options::=--force-confold",
                                   "-o",
                                   absl::StrCat("DPkg::Lock::Timeout=", kAptLockTimeout),
                                   "-o",
                                   "Dpkg::Use-Pty=0",
                                   "-o",
                                   "Acquire::Retries=3"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

std::vector<std::string> TransactionArguments(const PackageTransaction& transaction) {
  std::vector<std::string> arguments = {"install", transaction.install_recommends
                                                       ? "--install-recommends"
                                                       : "--no-install-recommends"};
  // Going back in version is meant only where a version was asked for.
  const bool exact = std::any_of(transaction.install.begin(), transaction.install.end(),
                                 [](const std::string& p) { return absl::StrContains(p, '='); });
  if (exact) arguments.emplace_back("--allow-downgrades");
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), transaction.install.begin(), transaction.install.end());
  for (const std::string& name : transaction.remove) arguments.push_back(absl::StrCat(name, "-"));
  return arguments;
}

}  // namespace

AptPackageManager::AptPackageManager(sys::FileSystem& files, sys::ProcessRunner& processes,
                                     Clock& clock, AptOptions options)
    : files_(files), processes_(processes), clock_(clock), options_(std::move(options)) {}

absl::StatusOr<std::shared_ptr<const DpkgStatus>> AptPackageManager::ReadStatus() {
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files_.Stat(kStatusFile));
  if (!stat.has_value())
    return absl::FailedPreconditionError(
        absl::StrCat("there is no ", kStatusFile, ": packages need a node with dpkg and apt"));
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
  ASSIGN_OR_RETURN(const std::shared_ptr<const DpkgStatus> status, ReadStatus());
  std::map<std::string, std::string> candidates;
  if (with_candidates && !names.empty()) {
    std::vector<std::string> argv = {"apt-cache", "policy", "--"};
    argv.insert(argv.end(), names.begin(), names.end());
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     sys::RunChecked(processes_, {.argv = argv, .max_output = size_t{4} << 20}));
    candidates = ParsePolicy(result.out);
  }
  std::map<std::string, PackageStatus> found;
  for (const std::string& name : names) {
    const std::string version = status->InstalledVersion(name);
    found[name] = {.installed = !version.empty(),
                   .provided = status->IsProvided(name),
                   .version = version,
                   .candidate = candidates[name]};
  }
  return found;
}

absl::Time AptPackageManager::ListsFetchedAt() {
  const auto stamp = files_.Read(Stamp(options_.work_folder));
  absl::Time fetched;
  std::string error;
  if (!stamp.ok() ||
      !absl::ParseTime(absl::RFC3339_full, std::string(absl::StripAsciiWhitespace(*stamp)),
                       &fetched, &error) ||
      fetched > clock_.Now())
    return absl::InfinitePast();
  return fetched;
}

bool AptPackageManager::ListsAreOlderThan(absl::Duration max_age) {
  const absl::Time fetched = ListsFetchedAt();
  if (fetched == absl::InfinitePast() || clock_.Now() - fetched > max_age) return true;
  std::vector<std::string> sources = {kSourcesFile, kSourcesFolder};
  if (const auto names = files_.List(kSourcesFolder); names.ok())
    for (const std::string& name : *names)
      sources.push_back(absl::StrCat(kSourcesFolder, "/", name));
  for (const std::string& path : sources) {
    const auto stat = files_.Stat(path);
    if (stat.ok() && stat->has_value() && absl::FromUnixNanos((*stat)->modified_ns) > fetched)
      return true;
  }
  // Somebody cleaned up, as builders of images do.
  const auto lists = files_.List(kListsFolder);
  return !lists.ok() || std::none_of(lists->begin(), lists->end(), [](const std::string& name) {
    return absl::StrContains(name, "_Packages");
  });
}

absl::Status AptPackageManager::AwaitLock(const PackageObserver& observer) {
  const absl::Time deadline = clock_.Now() + options_.lock_timeout;
  std::string told;
  while (const std::optional<LockHolder> holder = options_.find_lock_holder()) {
    const std::string who = holder->Describe();
    if (clock_.Now() >= deadline)
      return absl::UnavailableError(
          absl::StrCat("the package lock is still held by ", who, " after ",
                       absl::FormatDuration(options_.lock_timeout),
                       "; see what it is doing, end it if it hangs, and run again"));
    if (who != told) Say(observer, absl::StrCat("waiting for the package lock held by ", who));
    told = who;
    clock_.Sleep(kLockPoll);
  }
  return absl::OkStatus();
}

absl::StatusOr<sys::ProcessResult> AptPackageManager::RunTool(std::vector<std::string> argv,
                                                              const PackageObserver& observer) {
  RETURN_IF_ERROR(files_.MakeDirectory(options_.work_folder, 0700));
  sys::ProcessSpec spec = {
      .argv = std::move(argv),
      .environment = {{"DEBIAN_FRONTEND", "noninteractive"},
                      {"DEBCONF_NONINTERACTIVE_SEEN", "true"},
                      {"APT_LISTCHANGES_FRONTEND", "none"},
                      {"NEEDRESTART_MODE", "l"}},  // units are restarted by the playbook alone
      .timeout = options_.transaction_timeout,
      .on_line = observer.on_output,
      .output_file = absl::StrCat(options_.work_folder, "/output")};
  // apt-get repeats itself ten times a second; only what is new to a reader is passed on. The
  // callback is set in any case, because apt-get insists on its descriptor.
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

absl::Status AptPackageManager::RepairInterrupted(const PackageObserver& observer) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const DpkgStatus> status, ReadStatus());
  const auto journal = files_.List(kJournalFolder);
  const bool has_journal = journal.ok() && !journal->empty();
  if (!has_journal && status->half_done().empty()) return absl::OkStatus();
  Say(observer, "repairing an interrupted package transaction (dpkg --configure -a)");
  ASSIGN_OR_RETURN(
      const sys::ProcessResult result,
      RunTool({"dpkg", "--force-confdef", "--force-confold", "--configure", "-a"}, observer));
  // What dpkg cannot finish alone, a missing dependency above all, apt-get may.
  if (result.ok()) return absl::OkStatus();
  Say(observer, "repairing broken dependencies (apt-get --fix-broken install)");
  const std::vector<std::string> argv = AptGet({"--fix-broken", "install"});
  ASSIGN_OR_RETURN(const sys::ProcessResult fixed, RunTool(argv, observer));
  return Annotate(sys::CheckSuccess({.argv = {"apt-get --fix-broken install"}}, fixed),
                  "an earlier package transaction was interrupted and cannot be repaired");
}

absl::Status AptPackageManager::UpdateLists(absl::Duration max_age,
                                            const PackageObserver& observer) {
  if (!ListsAreOlderThan(max_age)) return absl::OkStatus();
  Say(observer, "fetching the lists of the package repositories");
  const absl::Time started = clock_.Now();
  // Without this option apt-get calls it a success when a repository did not answer.
  const std::vector<std::string> argv = AptGet({"update", "-o", "APT::Update::Error-Mode=any"});
  ASSIGN_OR_RETURN(const sys::ProcessResult result, RunTool(argv, observer));
  if (!result.ok()) {
    const AptFailure failure = ParseAptFailure(result.output);
    if (failure.errors.empty()) return sys::CheckSuccess({.argv = {"apt-get update"}}, result);
    return absl::UnavailableError(
        absl::StrCat("fetching the lists of the package repositories failed:\n", failure.errors));
  }
  // The time of the start, because a repository file may have been written meanwhile.
  return files_.WriteAtomically(Stamp(options_.work_folder),
                                absl::StrCat(absl::FormatTime(started, absl::UTCTimeZone()), "\n"),
                                {.mode = 0600});
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
    case AptRemedy::kUpdateLists:
      if (!ListsAreOlderThan(kFreshEnough)) return false;
      RETURN_IF_ERROR(UpdateLists(kFreshEnough, observer));
      return true;
    case AptRemedy::kConfigureAll: {
      Say(observer, "repairing an interrupted package transaction (dpkg --configure -a)");
      ASSIGN_OR_RETURN(
          const sys::ProcessResult result,
          RunTool({"dpkg", "--force-confdef", "--force-confold", "--configure", "-a"}, observer));
      return result.ok();
    }
    case AptRemedy::kFixBroken: {
      Say(observer, "repairing broken dependencies (apt-get --fix-broken install)");
      const std::vector<std::string> argv = AptGet({"--fix-broken", "install"});
      ASSIGN_OR_RETURN(const sys::ProcessResult result, RunTool(argv, observer));
      return result.ok();
    }
    case AptRemedy::kWaitForLock:
      RETURN_IF_ERROR(AwaitLock(observer));
      return true;
    case AptRemedy::kNone:
      return false;
  }
  return false;
}

absl::Status AptPackageManager::Explain(const AptFailure& failure,
                                        const sys::ProcessResult& result) {
  if (failure.unknown.empty()) {
    if (failure.errors.empty() || result.timed_out)
      return sys::CheckSuccess({.argv = {"apt-get"}, .timeout = options_.transaction_timeout},
                               result);
    return absl::InternalError(absl::StrCat("apt-get failed: ", failure.errors));
  }
  std::vector<std::string> messages;
  for (const std::string& name : failure.unknown) {
    std::string hint;
    const auto known = processes_.Run(
        {.argv = {"apt-cache", "pkgnames", name.substr(0, std::min<size_t>(2, name.size()))},
         .max_output = size_t{4} << 20});
    if (known.ok() && known->ok())
      hint = DidYouMean(name, absl::StrSplit(known->out, '\n', absl::SkipEmpty()));
    messages.push_back(
        absl::StrCat("package '", name, "' does not exist in the node's repositories", hint));
  }
  return absl::NotFoundError(
      absl::StrCat(absl::StrJoin(messages, "; "),
                   "; check the name, or add the repository that has it (package_repository)"));
}

absl::Status AptPackageManager::Apply(const PackageTransaction& transaction,
                                      const PackageObserver& observer) {
  if (transaction.empty()) return absl::OkStatus();
  absl::MutexLock lock(&transaction_mutex_);
  RETURN_IF_ERROR(AwaitLock(observer));
  RETURN_IF_ERROR(RepairInterrupted(observer));
  if (!transaction.install.empty())
    RETURN_IF_ERROR(UpdateLists(absl::InfiniteDuration(), observer));
  const std::vector<std::string> argv = AptGet(TransactionArguments(transaction));
  std::set<AptRemedy> tried;
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(const sys::ProcessResult result, RunTool(argv, observer));
    if (result.ok()) return absl::OkStatus();
    const AptFailure failure = ParseAptFailure(result.output);
    // Each remedy once: a second time it would not help either.
    if (attempt == kMaxAttempts || result.timed_out || !tried.insert(failure.remedy).second)
      return Explain(failure, result);
    ASSIGN_OR_RETURN(const bool helped, Remedy(failure, observer));
    if (!helped) return Explain(failure, result);
  }
}

}  // namespace muster::agent
