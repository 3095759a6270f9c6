#include "agent/upgrade/upgrade_place.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/upgrade/kept_files.h"
#include "common/base/status.h"
#include "common/sys/atomic_write.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

constexpr mode_t kPrivate = 0600;
constexpr mode_t kPrivateFolder = 0700;
constexpr char kAgentProgram[] = "/usr/bin/muster-agent";

// Everything but the order and a failure. The state's mark goes first: without it nobody takes what
// is left of the copy for a whole one.
absl::Status RemoveRest(const UpgradePlace& place, sys::FileSystem& files) {
  RETURN_IF_ERROR(files.Remove(place.State() + "/complete", /*recursive=*/false));
  ASSIGN_OR_RETURN(const std::vector<std::string> packages, PackagesOf(place, files));
  for (const std::string& package : packages)
    RETURN_IF_ERROR(files.Remove(package, /*recursive=*/false));
  for (const std::string& path :
       {place.State(), place.PreviousFolder(), place.Program(), place.StateFolderNote(),
        place.Before(), place.Good(), place.Back()})
    RETURN_IF_ERROR(files.Remove(path, /*recursive=*/true));
  return absl::OkStatus();
}

}  // namespace

UpgradePlace AgentPlace(const Paths& paths) {
  return {.what = "agent",
          .service = kServiceUnit,
          .unit = kUpgradeUnit,
          .folder = paths.UpgradeDirectory(),
          .greeted = paths.Greeted(),
          .not_greeted = "it did not reach the controller",
          .running = kVersion,
          .files = {
              {kAgentProgram, 0755},
              {"/usr/bin/muster-burnin", 0755},
              {"/usr/lib/systemd/system/muster-agent.service", 0644},
              {"/usr/lib/systemd/system/muster-agent-upgrade.service", 0644},
              {"/usr/lib/systemd/system/muster-controller-upgrade.service", 0644},
          }};
}

UpgradePlace ControllerPlace(const Paths& paths) {
  return {.what = "musterd",
          .service = kControllerUnit,
          .unit = kControllerUpgradeUnit,
          .folder = paths.ControllerUpgradeDirectory(),
          .greeted = paths.GreetedBy(),
          .not_greeted = "it did not welcome the agent of its own machine",
          .program = kAgentProgram,
          .has_state = true};
}

std::string UpgradePlace::Package(size_t index) const {
  return absl::StrCat(folder, "/package-", index, ".deb");
}

std::string UpgradePlace::Previous(const File& file) const {
  return absl::StrCat(PreviousFolder(), "/", file.path.substr(file.path.rfind('/') + 1));
}

absl::StatusOr<std::string> ReadNote(const std::string& path, sys::FileSystem& files) {
  absl::StatusOr<std::string> text = files.Read(path);
  if (absl::IsNotFound(text.status())) return std::string();
  RETURN_IF_ERROR(text.status());
  absl::StripAsciiWhitespace(&*text);
  return text;
}

absl::Status WriteNote(const std::string& path, absl::string_view text, sys::FileSystem& files) {
  return files.WriteAtomically(path, absl::StrCat(text, "\n"), {.mode = kPrivate});
}

absl::StatusOr<std::vector<std::string>> PackagesOf(const UpgradePlace& place,
                                                    sys::FileSystem& files) {
  std::vector<std::string> packages;
  const absl::StatusOr<std::vector<std::string>> names = files.List(place.folder);
  if (absl::IsNotFound(names.status())) return packages;
  RETURN_IF_ERROR(names.status());
  // An agent of an earlier version leaves "package.deb".
  for (const std::string& name : *names)
    if (absl::StartsWith(name, "package") && absl::EndsWith(name, ".deb"))
      packages.push_back(absl::StrCat(place.folder, "/", name));
  return packages;
}

absl::Status OrderUpgrade(const UpgradePlace& place, const UpgradeOrder& order,
                          sys::FileSystem& files, sys::ProcessRunner& processes) {
  RETURN_IF_ERROR(files.MakeDirectory(place.folder, kPrivateFolder));
  RETURN_IF_ERROR(RemoveRest(place, files));
  RETURN_IF_ERROR(files.MakeDirectory(place.PreviousFolder(), kPrivateFolder));
  for (const UpgradePlace::File& file : place.files) {
    const absl::Status kept = sys::PlaceFile(file.path, place.Previous(file), {.mode = file.mode},
                                             /*may_move=*/false);
    if (!absl::IsNotFound(kept)) RETURN_IF_ERROR(kept);
  }
  if (!order.names.empty())
    RETURN_IF_ERROR(KeepPackageFiles(order.names, place.PreviousFolder(), files, processes));
  if (!place.program.empty())
    RETURN_IF_ERROR(
        sys::PlaceFile(place.program, place.Program(), {.mode = 0755}, /*may_move=*/false));
  for (size_t i = 0; i < order.packages.size(); ++i)
    RETURN_IF_ERROR(
        sys::PlaceFile(order.packages[i], place.Package(i), {.mode = kPrivate}, order.may_move));
  if (place.has_state)
    RETURN_IF_ERROR(WriteNote(place.StateFolderNote(), order.state_folder, files));
  RETURN_IF_ERROR(WriteNote(place.Before(), order.before, files));
  return WriteNote(place.Order(), order.version, files);
}

absl::StatusOr<std::string> TakeFailure(const UpgradePlace& place, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(std::string why, ReadNote(place.Failure(), files));
  if (!why.empty()) RETURN_IF_ERROR(files.Remove(place.Failure(), /*recursive=*/false));
  return why;
}

absl::Status ForgetFailure(const UpgradePlace& place, sys::FileSystem& files) {
  return files.Remove(place.Failure(), /*recursive=*/false);
}

absl::Status ForgetUpgrade(const UpgradePlace& place, sys::FileSystem& files) {
  // The order first: without it nothing begins again.
  RETURN_IF_ERROR(files.Remove(place.Order(), /*recursive=*/false));
  return RemoveRest(place, files);
}

}  // namespace muster::agent
