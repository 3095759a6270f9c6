#include "agent/resources/package.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/resources/check_values.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

// How old the repositories' lists may be when "latest" is decided by them.
constexpr absl::Duration kLatestMaxAge = absl::Hours(1);

PackageObserver Forward(ApplyObserver& observer) {
  return {.on_activity =
              [&observer](absl::string_view activity, std::optional<float> percent) {
                observer.OnActivity(activity, percent);
              },
          .on_output =
              [&observer](absl::string_view line) { observer.OnOutput(absl::StrCat(line, "\n")); }};
}

// "1.2-3", or "1.2*" for every version that begins so.
bool VersionMatches(absl::string_view version, absl::string_view wanted) {
  if (wanted.empty()) return true;
  if (wanted.back() == '*') return absl::StartsWith(version, wanted.substr(0, wanted.size() - 1));
  return version == wanted;
}

void AppendNew(const std::vector<std::string>& from, std::vector<std::string>& to) {
  for (const std::string& name : from)
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
}

// The package part of "name=version".
std::string NameOf(const std::string& item) { return item.substr(0, item.find('=')); }

// Whether both transactions say something about the same package, and not the same thing.
bool Contradict(const PackageTransaction& a, const PackageTransaction& b) {
  for (const auto* x : {&a.install, &a.remove})
    for (const std::string& item : *x)
      for (const auto* y : {&b.install, &b.remove})
        for (const std::string& other : *y)
          if (NameOf(item) == NameOf(other) &&
              (item != other || (x == &a.install) != (y == &b.install)))
            return true;
  return false;
}

class Package final : public Resource {
 public:
  Package(v1::PackageResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {}

  std::string Id() const override {
    return absl::StrCat("package[", absl::StrJoin(spec_.names(), ", "), "]");
  }

  absl::StatusOr<std::vector<Change>> Check() override {
    const bool latest = spec_.state() == v1::PACKAGE_STATE_LATEST;
    // The lists are a cache of the world and no part of the node's state, so check mode, too,
    // brings them up to date.
    if (latest) RETURN_IF_ERROR(context_.packages.Update(kLatestMaxAge, {}));
    const std::vector<std::string> names(spec_.names().begin(), spec_.names().end());
    ASSIGN_OR_RETURN(const auto found, context_.packages.Query(names, latest));
    own_ = {.install_recommends = spec_.install_recommends()};
    std::vector<Change> changes;
    for (const std::string& name : names) {
      const PackageStatus& status = found.at(name);
      if (std::optional<Change> change = Compare(name, status)) changes.push_back(*change);
    }
    checked_ = true;
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    if (!checked_) RETURN_IF_ERROR(Check().status());
    PackageTransaction transaction = own_;
    AppendNew(absorbed_.install, transaction.install);
    AppendNew(absorbed_.remove, transaction.remove);
    return context_.packages.Apply(transaction, Forward(observer));
  }

  bool Absorb(Resource& next) override {
    const auto* other = dynamic_cast<const Package*>(&next);
    if (other == nullptr || !other->checked_ ||
        other->spec_.install_recommends() != spec_.install_recommends() ||
        !spec_.version().empty() || !other->spec_.version().empty())
      return false;
    if (Contradict(own_, other->own_) || Contradict(absorbed_, other->own_)) return false;
    AppendNew(other->own_.install, absorbed_.install);
    AppendNew(other->own_.remove, absorbed_.remove);
    return true;
  }

 private:
  // Adds to own_ what is to be done about `name`.
  std::optional<Change> Compare(const std::string& name, const PackageStatus& status) {
    const std::string field = absl::StrCat("package ", name);
    const std::string before = status.installed ? status.version : "absent";
    if (spec_.state() == v1::PACKAGE_STATE_ABSENT) {
      if (!status.installed) return std::nullopt;
      own_.remove.push_back(name);
      return Change{field, before, "absent"};
    }
    if (!spec_.version().empty()) {
      if (status.installed && VersionMatches(status.version, spec_.version())) return std::nullopt;
      own_.install.push_back(absl::StrCat(name, "=", spec_.version()));
      return Change{field, before, spec_.version()};
    }
    const bool newer = spec_.state() == v1::PACKAGE_STATE_LATEST && status.installed &&
                       !status.candidate.empty() && status.candidate != status.version;
    if ((status.installed && !newer) || (!status.installed && status.provided)) return std::nullopt;
    own_.install.push_back(name);
    return Change{field, before, status.candidate.empty() ? "installed" : status.candidate};
  }

  const v1::PackageResource spec_;
  ResourceContext& context_;
  bool checked_ = false;
  PackageTransaction own_;       // what Check() found to do
  PackageTransaction absorbed_;  // what the neighbours' Check() found
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
          absl::StrCat("names: '", name, "' holds a version; write it in the field version"));
  }
  if (!spec.version().empty()) {
    RETURN_IF_ERROR(CheckName("version", spec.version()));
    if (spec.state() == v1::PACKAGE_STATE_ABSENT || spec.state() == v1::PACKAGE_STATE_LATEST)
      return absl::InvalidArgumentError("version: goes with state present only");
  }
  return std::make_unique<Package>(spec, context);
}

}  // namespace muster::agent
