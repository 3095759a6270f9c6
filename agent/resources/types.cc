#include "agent/resources/types.h"

#include "absl/strings/str_cat.h"
#include "agent/resources/makers.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

// Every kind of resource that a step can hold.
struct ResourceType {
  v1::Step::ResourceCase kind;
  absl::StatusOr<std::unique_ptr<Resource>> (*make)(const v1::Step&, ResourceContext&, bool);
};
constexpr ResourceType kResourceTypes[] = {
    {v1::Step::kAgent, &MakeAgentVersion},
    {v1::Step::kPackage, &MakePackage},
    {v1::Step::kPackageUpgrade, &MakePackageUpgrade},
    {v1::Step::kPackageRepository, &MakePackageRepository},
    {v1::Step::kPackageModule, &MakePackageModule},
    {v1::Step::kFile, &MakeFile},
    {v1::Step::kDirectory, &MakeDirectory},
    {v1::Step::kSymlink, &MakeSymlink},
    {v1::Step::kUnit, &MakeUnit},
    {v1::Step::kUser, &MakeUser},
    {v1::Step::kGroup, &MakeGroup},
    {v1::Step::kCommand, &MakeCommand},
    {v1::Step::kHostname, &MakeHostname},
    {v1::Step::kLine, &MakeLine},
    {v1::Step::kSysctl, &MakeSysctl},
    {v1::Step::kSysctls, &MakeSysctls},
    {v1::Step::kDownload, &MakeDownload},
    {v1::Step::kKernelModule, &MakeKernelModule},
    {v1::Step::kMount, &MakeMount},
    {v1::Step::kMounts, &MakeMounts},
    {v1::Step::kArchive, &MakeArchive},
    {v1::Step::kFilesIn, &MakeFileSet},
    {v1::Step::kFileSystem, &MakeFileSystem},
    {v1::Step::kReboot, &MakeReboot},
    {v1::Step::kPendingReboot, &MakePendingReboot},
    {v1::Step::kLastReboot, &MakeLastReboot},
    {v1::Step::kContainerImage, &MakeContainerImage},
    {v1::Step::kSlurmAccounts, &MakeSlurmAccounts},
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeResource(const v1::Step& step,
                                                       ResourceContext& context, bool want_diff) {
  for (const ResourceType& type : kResourceTypes) {
    if (type.kind != step.resource_case()) continue;
    auto resource = type.make(step, context, want_diff && !step.sensitive());
    if (!resource.ok()) return Annotate(resource.status(), absl::StrCat("step ", step.step_id()));
    return resource;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("step ", step.step_id(),
                   ": this agent does not know the kind of resource; update muster-agent"));
}

}  // namespace muster::agent
