#include "agent/resources/makers.h"
#include "agent/resources/package_progress.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/resources/check_values.h"
#include "agent/resources/missing.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

// The maximum age of the repositories' lists when they decide what "latest" is.
constexpr absl::Duration kLatestMaxAge = absl::Hours(1);
// The same when they decide that a version does not exist.
constexpr absl::Duration kMissingMaxAge = absl::Minutes(5);

// A change reads "package munge"; this is its new value if no list has a version.
constexpr absl::string_view kField = "package ";
constexpr absl::string_view kInstalled = "installed";

// "1.2-3", or "1.2*" for every version that begins so. Without an epoch it means every epoch.
bool VersionMatches(absl::string_view version, absl::string_view wanted) {
  if (wanted.empty()) return true;
  if (const size_t epoch = version.find(':');
      epoch != absl::string_view::npos && !absl::StrContains(wanted, ':'))
    version.remove_prefix(epoch + 1);
  if (wanted.back() == '*') return absl::StartsWith(version, wanted.substr(0, wanted.size() - 1));
  return version == wanted;
}

void AppendNew(const std::vector<std::string>& from, std::vector<std::string>& to) {
  for (const std::string& name : from)
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
}

bool Names(const std::vector<std::string>& items, const std::string& name) {
  return std::any_of(items.begin(), items.end(),
                     [&name](const std::string& item) { return NameOf(item) == name; });
}

// Whether both transactions name the same package, but not with the same wish.
bool Contradict(const PackageTransaction& a, const PackageTransaction& b) {
  const auto contradicts = [](const std::vector<std::string>& items,
                              const std::vector<std::string>& same,
                              const std::vector<std::string>& opposite) {
    return std::any_of(items.begin(), items.end(), [&](const std::string& item) {
      return Names(opposite, NameOf(item)) ||
             (Names(same, NameOf(item)) && std::find(same.begin(), same.end(), item) == same.end());
    });
  };
  return contradicts(a.install, b.install, b.remove) || contradicts(a.remove, {}, b.install) ||
         contradicts(a.hold, {}, b.release) || contradicts(a.release, {}, b.hold) ||
         (a.purge != b.purge && !a.remove.empty() && !b.remove.empty());
}

void Append(const PackageTransaction& from, PackageTransaction& to) {
  AppendNew(from.install, to.install);
  AppendNew(from.remove, to.remove);
  AppendNew(from.hold, to.hold);
  AppendNew(from.release, to.release);
  to.purge |= from.purge && !from.remove.empty();
  if (from.install.empty()) return;
  to.install_recommends |= from.install_recommends;
  to.allow_downgrade |= from.allow_downgrade;
}

// Whether one apt-get may install the packages of both.
bool InstallAlike(const v1::PackageResource& a, const v1::PackageResource& b) {
  return a.install_recommends() == b.install_recommends() &&
         a.allow_downgrade() == b.allow_downgrade() && a.version().empty() && b.version().empty();
}

class Package final : public Resource {
 public:
  Package(v1::PackageResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {
    if (!OnlyRemoves()) installs_ = spec_;
  }

  std::string Id() const override {
    return absl::StrCat("package[", absl::StrJoin(spec_.names(), ", "), "]");
  }

  absl::StatusOr<std::vector<Change>> Check() override {
    const bool latest = spec_.state() == v1::PACKAGE_STATE_LATEST;
    // The lists are a cache of the world and not part of the node's state, so check mode refreshes
    // them, too.
    if (latest) RETURN_IF_ERROR(context_.packages.Update(kLatestMaxAge, {}));
    const std::vector<std::string> names(spec_.names().begin(), spec_.names().end());
    ASSIGN_OR_RETURN(auto found, context_.packages.Query(names, latest));
    own_ = {.install_recommends = spec_.install_recommends(),
            .purge = spec_.purge(),
            .allow_downgrade = spec_.allow_downgrade()};
    const bool any_other_version = std::any_of(
        names.begin(), names.end(), [&](const auto& name) { return HasOtherVersion(found[name]); });
    if (any_other_version) {
      ASSIGN_OR_RETURN(found, QueryLists(names));
    }
    std::vector<Change> changes;
    for (const std::string& name : names) {
      ASSIGN_OR_RETURN(const std::optional<Change> change, Compare(name, found[name]));
      if (change.has_value()) changes.push_back(*change);
      CompareHold(name, found[name], changes);
    }
    checked_ = true;
    return changes;
  }

  // Finds versions, further packages that come or go, and packages that no repository has.
  absl::Status Foresee(std::vector<Change>& found) override {
    if (own_.install.empty() && own_.remove.empty()) return absl::OkStatus();
    absl::StatusOr<PackagePreview> preview = context_.packages.Preview(own_);
    if (absl::IsNotFound(preview.status())) return MissingPackages(preview.status().message());
    RETURN_IF_ERROR(preview.status());
    for (Change& change : found) {
      if (change.after != kInstalled) continue;
      const auto version = preview->versions.find(change.field.substr(kField.size()));
      if (!preview->has_lists) {
        change.after = absl::StrCat(kInstalled, " (not looked up: lists missing)");
      } else if (version != preview->versions.end()) {
        change.after = version->second;
      }
    }
    if (std::string sum = Sum(own_.install.size(), *preview); !sum.empty()) {
      found.push_back({"packages", "", std::move(sum)});
    }
    std::vector<std::string> along;
    for (const std::string& name : preview->removed) {
      if (!Names(own_.remove, name)) along.push_back(name);
    }
    if (!along.empty()) found.push_back({"also removed", "", absl::StrJoin(along, ", ")});
    return absl::OkStatus();
  }

  absl::Status Apply(ApplyObserver& observer) override {
    if (!checked_) RETURN_IF_ERROR(Check().status());
    PackageTransaction transaction = own_;
    Append(absorbed_, transaction);
    return context_.packages.Apply(transaction, ShowProgress(observer));
  }

  bool Absorb(Resource& next) override {
    const auto* other = dynamic_cast<const Package*>(&next);
    if (other == nullptr || !other->checked_) return false;
    // Removals fit to every installation: a driver of another branch takes the old one's place in
    // one transaction, whatever version it names.
    if (installs_.has_value() && !other->OnlyRemoves() && !InstallAlike(*installs_, other->spec_))
      return false;
    if (Contradict(own_, other->own_) || Contradict(absorbed_, other->own_)) return false;
    Append(other->own_, absorbed_);
    if (!installs_.has_value() && !other->OnlyRemoves()) installs_ = other->spec_;
    return true;
  }

 private:
  bool OnlyRemoves() const { return spec_.state() == v1::PACKAGE_STATE_ABSENT; }

  bool HasOtherVersion(const PackageStatus& status) const {
    return !spec_.version().empty() &&
           !(status.installed &&
             (VersionMatches(status.version, spec_.version()) ||
              std::any_of(status.older.begin(), status.older.end(), [this](const auto& version) {
                return VersionMatches(version, spec_.version());
              })));
  }

  // Lists that cannot be read are fetched again; an error then names its repository.
  absl::StatusOr<std::map<std::string, PackageStatus>> QueryLists(
      const std::vector<std::string>& names) {
    auto found = context_.packages.Query(names, /*with_candidates=*/true);
    if (found.ok()) return found;
    RETURN_IF_ERROR(context_.packages.Update(absl::ZeroDuration(), {}));
    return context_.packages.Query(names, /*with_candidates=*/true);
  }

  // Adds the actions for `name` to own_.
  absl::StatusOr<std::optional<Change>> Compare(const std::string& name,
                                                const PackageStatus& status) {
    const std::string field = absl::StrCat(kField, name);
    const std::string before = status.installed   ? status.version
                               : status.half_done ? "half installed"
                                                  : "absent";
    if (spec_.state() == v1::PACKAGE_STATE_ABSENT) {
      const bool purge = spec_.purge() && status.configuration_left;
      if (!status.installed && !status.half_done && !purge) return std::nullopt;
      own_.remove.push_back(name);
      return Change{field, purge ? "configuration files" : before,
                    spec_.purge() ? "purged" : "absent"};
    }
    std::string wanted;
    if (!spec_.version().empty()) {
      if (!HasOtherVersion(status)) return std::nullopt;
      ASSIGN_OR_RETURN(wanted, ChooseVersion(name, status));
      own_.install.push_back(absl::StrCat(name, "=", wanted));
    } else {
      // "latest" skips packages on hold: that is what a hold is for.
      const bool newer = spec_.state() == v1::PACKAGE_STATE_LATEST && status.installed &&
                         !status.candidate.empty() && status.candidate != status.version &&
                         (!status.held || (spec_.has_hold() && !spec_.hold()));
      if ((status.installed && !newer) || (!status.installed && status.provided))
        return std::nullopt;
      own_.install.push_back(name);
      wanted = status.candidate;
    }
    RETURN_IF_ERROR(CheckDowngrade(name, status, wanted));
    return Change{field, before, wanted.empty() ? std::string(kInstalled) : wanted};
  }

  // "3 (32 with dependencies, 84 MB)"; empty when the names already say everything.
  static std::string Sum(size_t named, const PackagePreview& preview) {
    std::vector<std::string> more;
    if (preview.versions.size() > named) {
      more.push_back(absl::StrCat(preview.versions.size(), " with dependencies"));
    }
    if (preview.bytes > 0) more.push_back(Size(preview.bytes));
    return more.empty() ? "" : absl::StrCat(named, " (", absl::StrJoin(more, ", "), ")");
  }

  static std::string Size(uint64_t bytes) {
    return bytes < 1'000'000 ? absl::StrCat((bytes + 999) / 1000, " kB")
                             : absl::StrCat((bytes + 500'000) / 1'000'000, " MB");
  }

  // The version that `version` stands for: the newest that matches. If no list names the package
  // yet, the text itself, because apt-get will look for it in newer ones.
  absl::StatusOr<std::string> ChooseVersion(const std::string& name, PackageStatus status) {
    const auto matching = [this](const PackageStatus& of) {
      const auto found = std::find_if(
          of.available.begin(), of.available.end(),
          [this](const std::string& version) { return VersionMatches(version, spec_.version()); });
      return found == of.available.end() ? std::string() : *found;
    };
    std::string version = matching(status);
    if (version.empty() && !status.available.empty()) {
      RETURN_IF_ERROR(context_.packages.Update(kMissingMaxAge, {}));
      ASSIGN_OR_RETURN(auto again, QueryLists({name}));
      status = again[name];
      version = matching(status);
    }
    if (!version.empty()) return version;
    if (status.available.empty()) return spec_.version();
    return MissingPackages(absl::StrCat(
        "package '", name, "': the node's repositories have no version ", spec_.version(),
        "; they have ", absl::StrJoin(status.available, ", "),
        "; choose one of them, or add the repository that has it (package_repository)"));
  }

  absl::Status CheckDowngrade(const std::string& name, const PackageStatus& status,
                              const std::string& wanted) {
    if (spec_.allow_downgrade() || !status.installed || wanted.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool older, context_.packages.IsOlder(wanted, status.version));
    if (!older) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "package '", name, "': version ", status.version, " is installed and newer than ", wanted,
        ", the version in the task; to downgrade, write allow_downgrade: true"));
  }

  void CompareHold(const std::string& name, const PackageStatus& status,
                   std::vector<Change>& changes) {
    const bool will_be_there = status.installed || Names(own_.install, name);
    if (!spec_.has_hold() || spec_.hold() == status.held || !will_be_there) return;
    (spec_.hold() ? own_.hold : own_.release).push_back(name);
    changes.push_back(
        {absl::StrCat("hold ", name), status.held ? "yes" : "no", spec_.hold() ? "yes" : "no"});
  }

  const v1::PackageResource spec_;
  ResourceContext& context_;
  bool checked_ = false;
  PackageTransaction own_;       // what Check() found to do
  PackageTransaction absorbed_;  // what the neighbors' Check() found
  // The task that decides how the transaction installs: the first of them that does not remove.
  std::optional<v1::PackageResource> installs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakePackage(const v1::Step& step,
                                                      ResourceContext& context, bool want_diff) {
  const v1::PackageResource& spec = step.package();
  if (spec.names().empty()) return absl::InvalidArgumentError("names: is empty");
  for (const std::string& name : spec.names()) {
    RETURN_IF_ERROR(CheckName("names", name));
    if (absl::StrContains(name, '='))
      return absl::InvalidArgumentError(
          absl::StrCat("names: '", name, "' contains a version; write it into the field version"));
  }
  const bool absent = spec.state() == v1::PACKAGE_STATE_ABSENT;
  if (!spec.version().empty()) {
    RETURN_IF_ERROR(CheckName("version", spec.version()));
    if (absent || spec.state() == v1::PACKAGE_STATE_LATEST)
      return absl::InvalidArgumentError("version: allowed only with state present");
    if (spec.version().find_first_of("*?[") < spec.version().size() - 1 || spec.version() == "*")
      return absl::InvalidArgumentError(
          absl::StrCat("version: '", spec.version(), "' may contain one '*', at its end"));
  }
  if (absent && spec.has_hold())
    return absl::InvalidArgumentError("hold: an absent package cannot be held");
  if (!absent && spec.purge())
    return absl::InvalidArgumentError("purge: allowed only with state absent");
  return std::make_unique<Package>(spec, context);
}

}  // namespace muster::agent
