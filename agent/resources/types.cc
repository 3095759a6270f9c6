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
  InRoot in_root;
};
constexpr ResourceType kResourceTypes[] = {
    {v1::Step::kAgent, &MakeAgentVersion, InRoot::kNothing},
    {v1::Step::kController, &MakeControllerVersion, InRoot::kNothing},
    {v1::Step::kPackage, &MakePackage, InRoot::kWhole},
    {v1::Step::kPackageUpgrade, &MakePackageUpgrade, InRoot::kWhole},
    {v1::Step::kPackageRepository, &MakePackageRepository, InRoot::kWhole},
    {v1::Step::kPackageModule, &MakePackageModule, InRoot::kWhole},
    {v1::Step::kFile, &MakeFile, InRoot::kWhole},
    {v1::Step::kDirectory, &MakeDirectory, InRoot::kWhole},
    {v1::Step::kSymlink, &MakeSymlink, InRoot::kWhole},
    {v1::Step::kUnit, &MakeUnit, InRoot::kLasting},
    {v1::Step::kUser, &MakeUser, InRoot::kWhole},
    {v1::Step::kGroup, &MakeGroup, InRoot::kWhole},
    {v1::Step::kCommand, &MakeCommand, InRoot::kWhole},
    {v1::Step::kHostname, &MakeHostname, InRoot::kLasting},
    {v1::Step::kLine, &MakeLine, InRoot::kWhole},
    {v1::Step::kSysctl, &MakeSysctl, InRoot::kLasting},
    {v1::Step::kSysctls, &MakeSysctls, InRoot::kLasting},
    {v1::Step::kDownload, &MakeDownload, InRoot::kWhole},
    {v1::Step::kKernelModule, &MakeKernelModule, InRoot::kLasting},
    {v1::Step::kMount, &MakeMount, InRoot::kLasting},
    {v1::Step::kMounts, &MakeMounts, InRoot::kLasting},
    {v1::Step::kArchive, &MakeArchive, InRoot::kWhole},
    {v1::Step::kFilesIn, &MakeFileSet, InRoot::kWhole},
    {v1::Step::kFileSystem, &MakeFileSystem, InRoot::kNothing},
    {v1::Step::kReboot, &MakeReboot, InRoot::kNothing},
    {v1::Step::kPendingReboot, &MakePendingReboot, InRoot::kNothing},
    {v1::Step::kLastReboot, &MakeLastReboot, InRoot::kNothing},
    {v1::Step::kContainerImage, &MakeContainerImage, InRoot::kNothing},
    {v1::Step::kSlurmAccounts, &MakeSlurmAccounts, InRoot::kNothing},
};

}  // namespace

InRoot InRootOf(const v1::Step& step) {
  for (const ResourceType& type : kResourceTypes)
    if (type.kind == step.resource_case()) return type.in_root;
  return InRoot::kNothing;
}

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
