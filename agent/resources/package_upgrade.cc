#include "agent/resources/makers.h"
#include "agent/resources/package_progress.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/sys/slurm_jobs.h"
#include "common/base/status.h"
#include "common/base/text/slurm_job.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

// How old the repositories' lists may be when they say what is newer.
constexpr absl::Duration kListsMaxAge = absl::Hours(1);

// Takes exactly the versions that Check() found, so that a preview in check mode holds for as long
// as the repositories do.
class PackageUpgrades final : public Resource {
 public:
  PackageUpgrades(v1::PackageUpgradeResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {}

  std::string Id() const override {
    return absl::StrCat("package_upgrade[", TakesAll() ? "all" : "security", "]");
  }

  absl::StatusOr<std::vector<Change>> Check() override {
    // As for packages that are kept at the latest version, the lists are a cache of the world.
    RETURN_IF_ERROR(context_.packages.Update(kListsMaxAge, {}));
    ASSIGN_OR_RETURN(
        const std::vector<PackageUpgrade> upgrades,
        context_.packages.Upgrades(TakesAll() ? UpgradeScope::kAll : UpgradeScope::kSecurity));
    transaction_ = {.only_upgrade = true};
    std::vector<Change> changes;
    for (const PackageUpgrade& upgrade : upgrades) {
      transaction_.install.push_back(absl::StrCat(upgrade.name, "=", upgrade.offered));
      changes.push_back(
          {absl::StrCat("package ", upgrade.name), upgrade.installed, upgrade.offered});
    }
    checked_ = true;
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    if (!checked_) RETURN_IF_ERROR(Check().status());
    // Not in Check(): a preview is made before the node is drained.
    if (!spec_.with_running_jobs()) {
      ASSIGN_OR_RETURN(const std::vector<SlurmJob> jobs,
                       RunningSlurmJobs(context_.files, context_.accounts));
      if (!jobs.empty())
        return absl::FailedPreconditionError(absl::StrCat(
            Describe(jobs), jobs.size() == 1 ? " runs" : " run",
            " here, and nothing was upgraded: drain the node first, as `muster update` "
            "does, or write with_running_jobs: true"));
    }
    return context_.packages.Apply(transaction_, ShowProgress(observer));
  }

 private:
  bool TakesAll() const { return spec_.scope() == v1::PACKAGE_UPGRADE_SCOPE_ALL; }

  const v1::PackageUpgradeResource spec_;
  ResourceContext& context_;
  bool checked_ = false;
  PackageTransaction transaction_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakePackageUpgrade(const v1::Step& step,
                                                             ResourceContext& context,
                                                             bool want_diff) {
  const v1::PackageUpgradeScope scope = step.package_upgrade().scope();
  if (scope != v1::PACKAGE_UPGRADE_SCOPE_ALL && scope != v1::PACKAGE_UPGRADE_SCOPE_SECURITY)
    return absl::InvalidArgumentError("scope: must be all or security");
  return std::make_unique<PackageUpgrades>(step.package_upgrade(), context);
}

}  // namespace muster::agent
