// One maker for each kind of resource, defined in the file of that kind.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "agent/resources/types.h"

namespace muster::agent {

// Each makes the resource that `step` describes; the step must be of its kind. Parameters and
// errors are those of MakeResource().

// The version of the agent itself.
absl::StatusOr<std::unique_ptr<Resource>> MakeAgentVersion(const v1::Step& step,
                                                           ResourceContext& context,
                                                           bool want_diff);
// An archive that is unpacked into a directory.
absl::StatusOr<std::unique_ptr<Resource>> MakeArchive(const v1::Step& step,
                                                      ResourceContext& context, bool want_diff);
// A program that is run, with a visible rule for when there is nothing to do.
absl::StatusOr<std::unique_ptr<Resource>> MakeCommand(const v1::Step& step,
                                                      ResourceContext& context, bool want_diff);
// An image in the storage of a container runtime.
absl::StatusOr<std::unique_ptr<Resource>> MakeContainerImage(const v1::Step& step,
                                                             ResourceContext& context,
                                                             bool want_diff);
// The version of musterd on its own node.
absl::StatusOr<std::unique_ptr<Resource>> MakeControllerVersion(const v1::Step& step,
                                                                ResourceContext& context,
                                                                bool want_diff);
// A directory, not its content.
absl::StatusOr<std::unique_ptr<Resource>> MakeDirectory(const v1::Step& step,
                                                        ResourceContext& context, bool want_diff);
// A file from the network: content, owner, mode.
absl::StatusOr<std::unique_ptr<Resource>> MakeDownload(const v1::Step& step,
                                                       ResourceContext& context, bool want_diff);
// A regular file: content, owner, mode.
absl::StatusOr<std::unique_ptr<Resource>> MakeFile(const v1::Step& step, ResourceContext& context,
                                                   bool want_diff);
// Files of one directory, as a whole set.
absl::StatusOr<std::unique_ptr<Resource>> MakeFileSet(const v1::Step& step,
                                                      ResourceContext& context, bool want_diff);
// A file system on a device that holds nothing else.
absl::StatusOr<std::unique_ptr<Resource>> MakeFileSystem(const v1::Step& step,
                                                         ResourceContext& context, bool want_diff);
// A group of users.
absl::StatusOr<std::unique_ptr<Resource>> MakeGroup(const v1::Step& step, ResourceContext& context,
                                                    bool want_diff);
// The node's static host name.
absl::StatusOr<std::unique_ptr<Resource>> MakeHostname(const v1::Step& step,
                                                       ResourceContext& context, bool want_diff);
// A kernel module, now and at boot.
absl::StatusOr<std::unique_ptr<Resource>> MakeKernelModule(const v1::Step& step,
                                                           ResourceContext& context,
                                                           bool want_diff);
// One line in a file that others own.
absl::StatusOr<std::unique_ptr<Resource>> MakeLine(const v1::Step& step, ResourceContext& context,
                                                   bool want_diff);
// Mounted file systems: one, or all of one purpose.
absl::StatusOr<std::unique_ptr<Resource>> MakeMount(const v1::Step& step, ResourceContext& context,
                                                    bool want_diff);
absl::StatusOr<std::unique_ptr<Resource>> MakeMounts(const v1::Step& step, ResourceContext& context,
                                                     bool want_diff);
// Packages: installed, removed or kept at the newest version.
absl::StatusOr<std::unique_ptr<Resource>> MakePackage(const v1::Step& step,
                                                      ResourceContext& context, bool want_diff);
// Newer versions of what is installed.
absl::StatusOr<std::unique_ptr<Resource>> MakePackageUpgrade(const v1::Step& step,
                                                             ResourceContext& context,
                                                             bool want_diff);
// The stream of a module that dnf takes packages from.
absl::StatusOr<std::unique_ptr<Resource>> MakePackageModule(const v1::Step& step,
                                                            ResourceContext& context,
                                                            bool want_diff);
// A source of packages: its file and the key that signs it.
absl::StatusOr<std::unique_ptr<Resource>> MakePackageRepository(const v1::Step& step,
                                                                ResourceContext& context,
                                                                bool want_diff);
// A reboot in the middle of a plan. The engine decides whether and when; see
// agent/engine/reboot_run.h. Apply() starts it and returns before anything has gone down.
absl::StatusOr<std::unique_ptr<Resource>> MakeReboot(const v1::Step& step, ResourceContext& context,
                                                     bool want_diff);
// Looks for what MakeReboot() would reboot for, and is always in sync; see RebootFinding.
absl::StatusOr<std::unique_ptr<Resource>> MakePendingReboot(const v1::Step& step,
                                                            ResourceContext& context,
                                                            bool want_diff);
// A reboot out of one boot, in sync in every other. Apply() is that of MakeReboot().
absl::StatusOr<std::unique_ptr<Resource>> MakeLastReboot(const v1::Step& step,
                                                         ResourceContext& context, bool want_diff);
// QOS, accounts and users in Slurm's accounting, as a whole set.
absl::StatusOr<std::unique_ptr<Resource>> MakeSlurmAccounts(const v1::Step& step,
                                                            ResourceContext& context,
                                                            bool want_diff);
// A symbolic link.
absl::StatusOr<std::unique_ptr<Resource>> MakeSymlink(const v1::Step& step,
                                                      ResourceContext& context, bool want_diff);
// Kernel parameters, now and at boot: one, or all of one purpose.
absl::StatusOr<std::unique_ptr<Resource>> MakeSysctl(const v1::Step& step, ResourceContext& context,
                                                     bool want_diff);
absl::StatusOr<std::unique_ptr<Resource>> MakeSysctls(const v1::Step& step,
                                                      ResourceContext& context, bool want_diff);
// A systemd unit: running, enabled, masked.
absl::StatusOr<std::unique_ptr<Resource>> MakeUnit(const v1::Step& step, ResourceContext& context,
                                                   bool want_diff);
// A user account.
absl::StatusOr<std::unique_ptr<Resource>> MakeUser(const v1::Step& step, ResourceContext& context,
                                                   bool want_diff);

}  // namespace muster::agent
