#include "agent/sys/dnf/dnf_package_manager.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/sys/dnf/dnf_arguments.h"
#include "agent/sys/dnf/repositories.h"
#include "agent/sys/dnf/rpm_version.h"
#include "agent/sys/dnf/version_locks.h"
#include "agent/sys/package_patience.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"

namespace muster::agent {
namespace {

constexpr char kConfiguration[] = "/etc/dnf/dnf.conf";
constexpr char kModuleFolder[] = "/etc/dnf/modules.d";

absl::Status CheckNames(const PackageTransaction& transaction) {
  for (const auto* items : {&transaction.install, &transaction.remove})
    for (const std::string& item : *items) RETURN_IF_ERROR(CheckDnfName(NameOf(item)));
  return absl::OkStatus();
}

}  // namespace

DnfPackageManager::DnfPackageManager(sys::FileSystem& files, sys::ProcessRunner& processes,
                                     Clock& clock, DnfOptions options)
    : files_(files),
      processes_(processes),
      clock_(clock),
      options_(std::move(options)),
      installed_(files, processes, options_.work_folder),
      offered_(files, processes, options_.machine),
      locks_(files, installed_),
      age_(files, clock, absl::StrCat(options_.work_folder, "/updated"), kConfiguration,
           kRepositoryFolder) {}

absl::StatusOr<std::map<std::string, PackageStatus>> DnfPackageManager::Query(
    const std::vector<std::string>& names, bool with_candidates) {
  for (const std::string& name : names) RETURN_IF_ERROR(CheckDnfName(name));
  ASSIGN_OR_RETURN(const InstalledRpms::Database database, installed_.Read());
  ASSIGN_OR_RETURN(const LockList::Content lock_list, locks_.Read());
  const VersionLocks locks(lock_list.text);
  std::map<std::string, std::vector<RpmPackage>> available;
  if (with_candidates && !names.empty()) {
    ASSIGN_OR_RETURN(available, offered_.Find(names));
  }
  // A transaction that is running counts too: rpm names a package before its script ends, and
  // whoever applies waits for that end.
  const std::map<std::string, std::string> unfinished = installed_.Unfinished(*database);
  std::map<std::string, PackageStatus> found;
  for (const std::string& name : names) {
    PackageStatus& status = found[name];
    const std::vector<RpmPackage> installed = database->Find(name);
    status.half_done = absl::c_any_of(installed, [&](const RpmPackage& package) {
      return unfinished.count(package.Nevra()) > 0;
    });
    status.installed = !installed.empty() && !status.half_done;
    status.held =
        absl::c_any_of(installed, [&](const RpmPackage& package) { return locks.Holds(package); });
    if (installed.empty()) {
      const auto provider =
          processes_.Run({.argv = {"rpm", "--query", "--whatprovides", "--", name}});
      status.provided = provider.ok() && provider->ok();
    }
    for (const RpmPackage& package : installed) {
      if (!status.installed) break;
      if (status.version.empty()) {
        status.version = package.version;
      } else if (package.version != status.version) {
        status.older.push_back(package.version);
      }
    }
    for (const RpmPackage& package : available[name]) {
      if (status.candidate.empty()) status.candidate = package.version;
      if (!absl::c_linear_search(status.available, package.version))
        status.available.push_back(package.version);
    }
    // What is newer than every offer stays.
    if (!status.candidate.empty() && !installed.empty() &&
        CompareRpmVersions(installed.front().version, status.candidate) > 0)
      status.candidate = installed.front().version;
    std::stable_sort(
        status.available.begin(), status.available.end(),
        [](const std::string& a, const std::string& b) { return CompareRpmVersions(a, b) > 0; });
  }
  return found;
}

absl::StatusOr<std::vector<PackageUpgrade>> DnfPackageManager::Upgrades(UpgradeScope scope) {
  ASSIGN_OR_RETURN(const InstalledRpms::Database database, installed_.Read());
  ASSIGN_OR_RETURN(const LockList::Content lock_list, locks_.Read());
  const VersionLocks locks(lock_list.text);
  std::vector<std::string> arguments = {"repoquery", "--upgrades", "--latest-limit=1",
                                        "--queryformat", kRepoqueryFormat};
  if (scope == UpgradeScope::kSecurity) arguments.insert(arguments.begin() + 1, "--security");
  ASSIGN_OR_RETURN(
      const sys::ProcessResult result,
      sys::RunChecked(processes_, {.argv = DnfQuery(arguments), .max_output = kMaxQueryOutput}));
  std::map<std::string, PackageUpgrade> upgrades;
  for (const RpmPackage& package : ParseRepoquery(result.out)) {
    const std::string full_name = absl::StrCat(package.name, ".", package.arch);
    const std::vector<RpmPackage> installed = database->Find(full_name);
    if (installed.empty() ||
        absl::c_any_of(installed, [&](const RpmPackage& one) { return locks.Holds(one); }))
      continue;
    const std::string& name = database->Find(package.name).size() == installed.size()
                                  ? package.name
                                  : full_name;  // several architectures
    upgrades[name] = {name, installed.front().version, package.version};
  }
  std::vector<PackageUpgrade> sorted;
  for (auto& [name, upgrade] : upgrades) sorted.push_back(std::move(upgrade));
  return sorted;
}

absl::StatusOr<std::vector<std::string>> DnfPackageManager::CommandLine(
    const PackageTransaction& transaction) {
  if (transaction.install.empty() || transaction.remove.empty()) return DnfTransaction(transaction);
  // No command of dnf both installs and removes several packages, but a stored transaction does.
  std::vector<std::string> names;
  for (const std::string& item : transaction.install) names.push_back(NameOf(item));
  ASSIGN_OR_RETURN(const auto available, offered_.Find(names));
  std::vector<RpmPackage> install, remove;
  for (const std::string& item : transaction.install) {
    const std::string name = NameOf(item);
    const std::string version = name == item ? "" : item.substr(name.size() + 1);
    const std::vector<RpmPackage>& offers = available.at(name);
    const auto it = absl::c_find_if(offers, [&](const RpmPackage& package) {
      return version.empty() || package.version == version;
    });
    if (it == offers.end()) return absl::NotFoundError(Explain(DnfSpec(item), transaction));
    install.push_back(*it);
  }
  ASSIGN_OR_RETURN(const InstalledRpms::Database database, installed_.Read());
  for (const std::string& name : transaction.remove) {
    const std::vector<RpmPackage> installed = database->Find(name);
    remove.insert(remove.end(), installed.begin(), installed.end());
  }
  const std::string path = absl::StrCat(options_.work_folder, "/transaction.json");
  RETURN_IF_ERROR(files_.MakeDirectory(options_.work_folder, 0700));
  RETURN_IF_ERROR(
      files_.WriteAtomically(path, DnfStoredTransaction(install, remove), {.mode = 0600}));
  return DnfReplay(transaction, path);
}

absl::StatusOr<PackagePreview> DnfPackageManager::Preview(const PackageTransaction& transaction) {
  RETURN_IF_ERROR(CheckNames(transaction));
  for (int attempt = 1;; ++attempt) {
    absl::StatusOr<std::vector<std::string>> arguments = CommandLine(transaction);
    // Lists that are missing are no answer yet, and apply fetches them.
    if (absl::IsInternal(arguments.status())) return PackagePreview{};
    RETURN_IF_ERROR(arguments.status());
    // A held package that the transaction names changes nevertheless.
    std::vector<std::string> argv = {"dnf", "--assumeno", "--color=never", "--cacheonly",
                                     "--disableplugin=versionlock"};
    argv.insert(argv.end(), arguments->begin(), arguments->end());
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     processes_.Run({.argv = argv, .max_output = size_t{4} << 20}));
    PackagePreview preview = ParseDnfPreview(result.output);
    const DnfFailure failure = ParseDnfFailure(result.output);
    if (failure.unknown.empty() || !preview.has_lists || transaction.install.empty())
      return preview;
    if (attempt > 1 || !age_.IsOver(kFreshEnough)) return Explain(failure, result, transaction);
    RETURN_IF_ERROR(Update(kFreshEnough, {}));
  }
}

absl::Status DnfPackageManager::AwaitLock(const PackageObserver& observer) {
  ASSIGN_OR_RETURN(const std::string folder, installed_.Folder());
  return AwaitPackageLock([&] { return options_.find_lock_holder(folder); }, options_.lock_timeout,
                          clock_, observer);
}

absl::StatusOr<sys::ProcessResult> DnfPackageManager::RunTool(std::vector<std::string> argv,
                                                              absl::Duration timeout,
                                                              const PackageObserver& observer) {
  RETURN_IF_ERROR(files_.MakeDirectory(options_.work_folder, 0700));
  return processes_.Run({.argv = std::move(argv),
                         .timeout = timeout,
                         .max_output = size_t{1} << 20,
                         .on_line =
                             [&observer](absl::string_view line) {
                               if (observer.on_output) observer.on_output(line);
                               const auto progress = ParseDnfProgress(line);
                               if (progress.has_value() && observer.on_activity)
                                 observer.on_activity(progress->activity, progress->percent);
                             },
                         .output_file = absl::StrCat(options_.work_folder, "/output")});
}

absl::Status DnfPackageManager::Repair(const std::string& what, std::vector<std::string> argv,
                                       const PackageObserver& observer) {
  Tell(observer, absl::StrCat("repairing an interrupted package transaction: ", what));
  return RunTool(std::move(argv), options_.transaction_timeout, observer).status();
}

absl::Status DnfPackageManager::RepairInterrupted(const PackageTransaction& transaction,
                                                  const PackageObserver& observer) {
  absl::StatusOr<InstalledRpms::Database> database = installed_.Read();
  if (absl::IsInternal(database.status())) {
    RETURN_IF_ERROR(
        Repair("rpm cannot read its database (rpm --rebuilddb)", {"rpm", "--rebuilddb"}, observer));
    database = installed_.Read();
  }
  RETURN_IF_ERROR(database.status());
  RETURN_IF_ERROR(installed_.RecordUnfinished(**database));
  if ((*database)->has_several_versions()) {
    // dnf knows which packages may stand beside others of their name.
    const auto twice = processes_.Run(
        {.argv = DnfQuery({"repoquery", "--duplicates", "--queryformat", kRepoqueryFormat}),
         .max_output = kMaxQueryOutput});
    std::set<std::string> names;
    if (twice.ok() && twice->ok())
      for (const RpmPackage& package : ParseRepoquery(twice->out)) names.insert(package.name);
    if (!names.empty())
      RETURN_IF_ERROR(Repair(absl::StrCat("two versions of ", absl::StrJoin(names, ", "),
                                          " (dnf remove --duplicates)"),
                             Dnf({"remove", "--duplicates"}), observer));
    ASSIGN_OR_RETURN(database, installed_.Read());
  }
  std::vector<std::string> again;
  for (const auto& [nevra, installed_by] : installed_.Unfinished(**database)) {
    const RpmPackage* package = (*database)->FindNevra(nevra);
    if (package != nullptr && !absl::c_linear_search(transaction.remove, package->name))
      again.push_back(nevra);
  }
  if (again.empty()) return absl::OkStatus();
  std::vector<std::string> arguments = {"reinstall"};
  arguments.insert(arguments.end(), again.begin(), again.end());
  RETURN_IF_ERROR(
      Repair(absl::StrCat("installing ", absl::StrJoin(again, ", "), " again (dnf reinstall)"),
             Dnf(arguments), observer));
  ASSIGN_OR_RETURN(database, installed_.Read());
  return installed_.RecordUnfinished(**database);
}

absl::Status DnfPackageManager::UpdateLists(absl::Duration max_age,
                                            const PackageObserver& observer) {
  if (!age_.IsOver(max_age)) return absl::OkStatus();
  for (int attempt = 1;; ++attempt) {
    Tell(observer, "fetching the lists of the package repositories");
    const absl::Time started = clock_.Now();
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     RunTool(Dnf({"makecache", "--refresh"}), options_.update_timeout, observer));
    if (result.ok()) return age_.Record(started);
    const DnfFailure failure = ParseDnfFailure(result.output);
    if (attempt < kMaxAttempts &&
        (failure.remedy == DnfRemedy::kWaitForLock || failure.remedy == DnfRemedy::kTryAgain)) {
      RETURN_IF_ERROR(Remedy(failure, observer).status());
      continue;
    }
    if (failure.causes.empty() || result.timed_out)
      return Annotate(sys::CheckSuccess(
                          {.argv = {"dnf makecache"}, .timeout = options_.update_timeout}, result),
                      "fetching the lists of the package repositories");
    return absl::UnavailableError(absl::StrCat(
        "fetching the lists of the package repositories failed: ", failure.Describe()));
  }
}

absl::Status DnfPackageManager::Update(absl::Duration max_age, const PackageObserver& observer) {
  absl::MutexLock lock(&transaction_mutex_);
  if (!age_.IsOver(max_age)) return absl::OkStatus();
  RETURN_IF_ERROR(AwaitLock(observer));
  return UpdateLists(max_age, observer);
}

absl::StatusOr<bool> DnfPackageManager::Remedy(const DnfFailure& failure,
                                               const PackageObserver& observer) {
  switch (failure.remedy) {
    case DnfRemedy::kTryAgain:
      Tell(observer, "a package repository answered with an error; trying again in a moment");
      clock_.Sleep(kServerPause);
      return true;
    case DnfRemedy::kUpdateLists:
      if (!age_.IsOver(kFreshEnough)) return false;
      RETURN_IF_ERROR(UpdateLists(kFreshEnough, observer));
      return true;
    case DnfRemedy::kWaitForLock:
      clock_.Sleep(kLockPoll);
      RETURN_IF_ERROR(AwaitLock(observer));
      return true;
    case DnfRemedy::kNone:
      return false;
  }
  return false;
}

std::string DnfPackageManager::Explain(const std::string& unknown,
                                       const PackageTransaction& transaction) {
  for (const std::string& item : transaction.install)
    if (item != unknown && DnfSpec(item) == unknown)
      return absl::StrCat("package '", NameOf(item), "': the node's repositories have no version ",
                          item.substr(NameOf(item).size() + 1));
  std::string hint;
  // Our own question: the name may hold nothing that dnf expands.
  if (CheckDnfName(unknown).ok()) {
    const auto known =
        processes_.Run({.argv = DnfQuery({"repoquery", "--available", "--queryformat", "%{name}",
                                          absl::StrCat(unknown.substr(0, 2), "*")}),
                        .max_output = kMaxQueryOutput});
    if (known.ok() && known->ok())
      hint = DidYouMean(unknown, absl::StrSplit(known->out, '\n', absl::SkipEmpty()));
  }
  return absl::StrCat("package '", unknown, "' does not exist in the node's repositories", hint);
}

absl::Status DnfPackageManager::Explain(const DnfFailure& failure, const sys::ProcessResult& result,
                                        const PackageTransaction& transaction) {
  if (failure.unknown.empty()) {
    if (failure.causes.empty() || result.timed_out)
      return sys::CheckSuccess({.argv = {"dnf"}, .timeout = options_.transaction_timeout}, result);
    return absl::InternalError(absl::StrCat("dnf failed: ", failure.Describe()));
  }
  std::vector<std::string> messages;
  for (const std::string& name : failure.unknown) messages.push_back(Explain(name, transaction));
  return absl::NotFoundError(
      absl::StrCat(absl::StrJoin(messages, "; "),
                   "; check the name, or add the repository that has it (package_repository)"));
}

absl::Status DnfPackageManager::CheckScripts(const sys::ProcessResult& result) {
  const std::vector<std::string> failed = ParseUnfinished(result.output);
  if (failed.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const InstalledRpms::Database database, installed_.Read());
  RETURN_IF_ERROR(installed_.RecordUnfinished(*database));
  // Scripts of packages that are gone spoil nothing.
  if (absl::c_none_of(
          failed, [&](const std::string& nevra) { return database->FindNevra(nevra) != nullptr; }))
    return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("dnf failed: ", ParseDnfFailure(result.output).Describe()));
}

absl::Status DnfPackageManager::Install(const PackageTransaction& transaction,
                                        const PackageObserver& observer) {
  if (!transaction.install.empty())
    RETURN_IF_ERROR(UpdateLists(absl::InfiniteDuration(), observer));
  std::set<DnfRemedy> tried;
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(const std::vector<std::string> arguments, CommandLine(transaction));
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     RunTool(Dnf(arguments), options_.transaction_timeout, observer));
    if (result.ok()) return CheckScripts(result);
    const DnfFailure failure = ParseDnfFailure(result.output);
    // Each remedy once: it would not help a second time either. But others may take the lock again.
    const bool is_new = tried.insert(failure.remedy).second;
    if (attempt == kMaxAttempts || result.timed_out ||
        (!is_new && failure.remedy != DnfRemedy::kWaitForLock))
      return Explain(failure, result, transaction);
    ASSIGN_OR_RETURN(const bool helped, Remedy(failure, observer));
    if (!helped) return Explain(failure, result, transaction);
  }
}

absl::Status DnfPackageManager::Apply(const PackageTransaction& transaction,
                                      const PackageObserver& observer) {
  if (transaction.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckNames(transaction));
  absl::MutexLock lock(&transaction_mutex_);
  RETURN_IF_ERROR(AwaitLock(observer));
  RETURN_IF_ERROR(RepairInterrupted(transaction, observer));
  ASSIGN_OR_RETURN(const LockList::Content locks, locks_.Read());
  ASSIGN_OR_RETURN(const InstalledRpms::Database database, installed_.Read());
  const VersionLocks before(locks.text);
  std::vector<std::string> held;
  for (const std::string& item : transaction.install)
    if (absl::c_any_of(database->Find(NameOf(item)),
                       [&](const RpmPackage& package) { return before.Holds(package); }))
      held.push_back(NameOf(item));
  PackageTransaction whole = transaction;
  if (!transaction.hold.empty() && !locks_.IsInstalled())
    whole.install.emplace_back(LockList::kPackage);
  RETURN_IF_ERROR(locks_.Move(locks, whole));
  absl::Status installed = absl::OkStatus();
  if (!whole.install.empty() || !whole.remove.empty()) installed = Install(whole, observer);
  if (installed.ok()) return locks_.Settle(held, transaction);
  RETURN_IF_ERROR(locks_.Restore(locks, *database));
  return installed;
}

absl::StatusOr<bool> DnfPackageManager::IsOlder(const std::string& a, const std::string& b) {
  return CompareRpmVersions(a, b) < 0;
}

absl::StatusOr<std::string> DnfPackageManager::ModuleStream(const std::string& module) {
  const auto text = files_.Read(absl::StrCat(kModuleFolder, "/", module, ".module"));
  if (absl::IsNotFound(text.status())) return std::string();
  RETURN_IF_ERROR(text.status());
  return EnabledStream(*text, module);
}

absl::Status DnfPackageManager::SetModuleStream(const std::string& module,
                                                const std::string& stream,
                                                const PackageObserver& observer) {
  absl::MutexLock lock(&transaction_mutex_);
  RETURN_IF_ERROR(AwaitLock(observer));
  if (!stream.empty()) RETURN_IF_ERROR(UpdateLists(absl::InfiniteDuration(), observer));
  const std::vector<std::string> argv = stream.empty()
                                            ? Dnf({"module", "reset", module})
                                            : Dnf({"--setopt=module_stream_switch=True", "module",
                                                   "enable", absl::StrCat(module, ":", stream)});
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     RunTool(argv, options_.transaction_timeout, observer));
    if (result.ok()) return absl::OkStatus();
    const DnfFailure failure = ParseDnfFailure(result.output);
    if (failure.remedy == DnfRemedy::kNone || attempt == kMaxAttempts || result.timed_out)
      return Explain(failure, result, {});
    ASSIGN_OR_RETURN(const bool helped, Remedy(failure, observer));
    if (!helped) return Explain(failure, result, {});
  }
}

}  // namespace muster::agent
