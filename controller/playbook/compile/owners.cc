#include "controller/playbook/compile/owners.h"

#include <fnmatch.h>

#include <algorithm>
#include <memory>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/digest.h"
#include "controller/playbook/compile/plan_builder.h"
#include "controller/playbook/errors.h"
#include "muster/v1/plan.pb.h"

namespace muster::controller {
namespace playbook {
namespace {

// Whether a thing exists or runs: the only wish that a later play may take back.
constexpr absl::string_view kState = "state";
constexpr absl::string_view kType = "type";
constexpr absl::string_view kContent = "content";
constexpr absl::string_view kPresent = "present";
constexpr absl::string_view kAbsent = "absent";
constexpr absl::string_view kFile = "file";
constexpr absl::string_view kLink = "link";
constexpr absl::string_view kDirectory = "directory";

// Good for this process, which is as long as claims live.
uint64_t DigestOf(absl::string_view value) { return absl::HashOf(value); }

class Claims {
 public:
  explicit Claims(const v1::Step& step) : step_(step) {}

  // Begins with another thing; the following wishes are about it.
  Claims& Of(std::string thing) {
    list_.push_back({std::move(thing), step_.source(), step_.name(), {}});
    return *this;
  }
  Claims& Want(absl::string_view what, absl::string_view value) {
    list_.back().wishes.emplace_back(what, DigestOf(value));
    return *this;
  }
  // An unset value is left as it is.
  Claims& WantIfSaid(absl::string_view what, absl::string_view value) {
    return value.empty() ? *this : Want(what, value);
  }
  Claims& WantIf(bool said, absl::string_view what, const absl::AlphaNum& value) {
    return said ? Want(what, value.Piece()) : *this;
  }
  Claims& WantThere(bool there) { return Want(kState, there ? kPresent : kAbsent); }
  // A path is one thing, however it is written.
  Claims& OfPath(absl::string_view path) {
    std::vector<absl::string_view> parts;
    for (const absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
      if (part != ".") parts.push_back(part);
    }
    return Of(absl::StrCat("/", absl::StrJoin(parts, "/")));
  }

  std::vector<Claim> Take() {
    for (Claim& claim : list_) std::sort(claim.wishes.begin(), claim.wishes.end());
    list_.erase(std::remove_if(list_.begin(), list_.end(),
                               [](const Claim& claim) { return claim.wishes.empty(); }),
                list_.end());
    return std::move(list_);
  }

 private:
  const v1::Step& step_;
  std::vector<Claim> list_;
};

bool IsThere(v1::Presence state) { return state != v1::PRESENCE_ABSENT; }

template <typename Resource>
void WantOwnership(const Resource& resource, Claims& claims) {
  claims.WantIfSaid("owner", resource.owner())
      .WantIfSaid("group", resource.group())
      .WantIf(resource.has_mode(), "mode", resource.mode());
}

// The content of a FileResource or an entry of a set: a small one itself, marked as such, and the
// SHA-256 of one that may be a blob for another task.
template <typename File>
std::string ContentOf(const File& file) {
  if (!file.blob_sha256().empty()) return file.blob_sha256();
  return file.content().size() > kAlwaysInline ? Sha256Hex(file.content())
                                               : absl::StrCat("=", file.content());
}

// For messages without maps, whose bytes say everything.
template <typename Message>
std::string BytesOf(const Message& message) {
  return message.SerializeAsString();
}

void ClaimPackage(const v1::Step& step, Claims& claims) {
  const v1::PackageResource& package = step.package();
  for (const std::string& name : package.names()) {
    claims.Of(absl::StrCat("package ", name))
        .WantThere(package.state() != v1::PACKAGE_STATE_ABSENT)
        .WantIfSaid("version", package.version())
        .WantIf(package.state() == v1::PACKAGE_STATE_LATEST, "version", "latest")
        .WantIf(package.has_hold(), "hold", package.hold());
  }
}

void ClaimRepository(const v1::Step& step, Claims& claims) {
  const v1::PackageRepositoryResource& repository = step.package_repository();
  const bool there = IsThere(repository.state());
  claims.Of(absl::StrCat("package repository ", repository.name()))
      .WantThere(there)
      .WantIf(there, kContent, BytesOf(repository));
}

void ClaimModule(const v1::Step& step, Claims& claims) {
  const v1::PackageModuleResource& module = step.package_module();
  claims.Of(absl::StrCat("package module ", module.name()))
      .WantThere(IsThere(module.state()))
      .WantIfSaid("stream", module.stream());
}

void ClaimFile(const v1::Step& step, Claims& claims) {
  const v1::FileResource& file = step.file();
  claims.OfPath(file.path()).WantThere(IsThere(file.state()));
  if (!IsThere(file.state())) return;
  claims.Want(kType, kFile);
  // Only written once: a later change is not undone.
  if (!file.only_if_missing()) claims.Want(kContent, ContentOf(file));
  WantOwnership(file, claims);
}

void ClaimDirectory(const v1::Step& step, Claims& claims) {
  const v1::DirectoryResource& directory = step.directory();
  claims.OfPath(directory.path()).WantThere(IsThere(directory.state()));
  if (!IsThere(directory.state())) return;
  claims.Want(kType, kDirectory);
  WantOwnership(directory, claims);
}

void ClaimSymlink(const v1::Step& step, Claims& claims) {
  const v1::SymlinkResource& link = step.symlink();
  const bool there = IsThere(link.state());
  claims.OfPath(link.path())
      .WantThere(there)
      .WantIf(there, kType, kLink)
      .WantIf(there, "target", link.target());
}

void ClaimLine(const v1::Step& step, Claims& claims) {
  const v1::LineResource& line = step.line();
  const bool there = IsThere(line.state());
  // Lines of one file can coexist, but not with a task that writes the whole file.
  claims.OfPath(line.path()).Want(kContent, "lines");
  if (there) claims.WantThere(true).Want(kType, kFile);
  const std::string which = !line.key().empty()     ? line.key()
                            : !line.match().empty() ? line.match()
                            : step.sensitive()      ? Sha256Hex(line.line()).substr(0, 12)
                                                    : line.line();
  claims.Of(absl::StrCat("line '", which, "' of ", line.path()))
      .WantThere(there)
      .WantIf(there, kContent, line.line());
}

void ClaimDownload(const v1::Step& step, Claims& claims) {
  const v1::DownloadResource& download = step.download();
  claims.OfPath(download.path())
      .WantThere(true)
      .Want(kType, kFile)
      .Want(kContent, download.sha256());
  WantOwnership(download, claims);
}

void ClaimArchive(const v1::Step& step, Claims& claims) {
  const v1::ArchiveResource& archive = step.archive();
  if (IsThere(archive.state())) {
    claims.OfPath(archive.path()).WantThere(true).Want(kType, kDirectory);
  }
  claims.Of(absl::StrCat("archive ", archive.sha256().substr(0, 12), " in ", archive.path()))
      .WantThere(IsThere(archive.state()));
}

void ClaimFilesIn(const v1::Step& step, Claims& claims) {
  const v1::FileSetResource& set = step.files_in();
  std::vector<std::string> names;
  for (const v1::FileSetEntry& file : set.files()) names.push_back(file.name());
  std::sort(names.begin(), names.end());
  claims.OfPath(set.path()).WantIf(!names.empty(), kType, kDirectory);
  // Two sets in one directory would each remove the files of the other.
  claims.Want("list of files", absl::StrJoin(names, "/"));
  for (const v1::FileSetEntry& file : set.files()) {
    claims.OfPath(absl::StrCat(set.path(), "/", file.name()))
        .WantThere(true)
        .Want(kType, kFile)
        .Want(kContent, ContentOf(file));
    WantOwnership(set, claims);
  }
}

void ClaimUnit(const v1::Step& step, Claims& claims) {
  const v1::UnitResource& unit = step.unit();
  claims.Of(absl::StrCat("unit ", unit.name()))
      .WantIf(unit.state() == v1::UNIT_STATE_STARTED, kState, "started")
      .WantIf(unit.state() == v1::UNIT_STATE_STOPPED, kState, "stopped")
      .WantIf(unit.has_enabled(), "enabled", unit.enabled())
      .WantIf(unit.has_masked(), "masked", unit.masked());
}

void ClaimUser(const v1::Step& step, Claims& claims) {
  const v1::UserResource& user = step.user();
  claims.Of(absl::StrCat("user ", user.name())).WantThere(IsThere(user.state()));
  if (!IsThere(user.state())) return;
  claims.WantIf(user.has_uid(), "uid", user.uid())
      .WantIfSaid("group", user.primary_group())
      .WantIfSaid("home", user.home())
      .WantIfSaid("shell", user.shell())
      .WantIfSaid("comment", user.comment())
      .WantIfSaid("password", user.password_hash())
      .WantIf(user.no_authorized_keys() || !user.authorized_keys().empty(), "authorized_keys",
              absl::StrJoin(user.authorized_keys(), "\n"));
}

void ClaimGroup(const v1::Step& step, Claims& claims) {
  const v1::GroupResource& group = step.group();
  const bool there = IsThere(group.state());
  claims.Of(absl::StrCat("group ", group.name()))
      .WantThere(there)
      .WantIf(there && group.has_gid(), "gid", group.gid());
}

void ClaimAgent(const v1::Step& step, Claims& claims) {
  claims.Of("the agent").Want("version", step.agent().version());
}

void ClaimController(const v1::Step& step, Claims& claims) {
  claims.Of("the controller").Want("version", step.controller().version());
}

void ClaimHostname(const v1::Step& step, Claims& claims) {
  claims.Of("the host name").Want("value", step.hostname().name());
}

// Normalizes keys as sysctl(8) does: the first separator decides how the parts are separated.
std::string ParameterName(std::string key) {
  const size_t first = key.find_first_of("./");
  if (first != std::string::npos && key[first] == '/') {
    for (char& c : key) c = c == '/' ? '.' : c == '.' ? '/' : c;
  }
  return absl::StrCat("kernel parameter ", key);
}

std::string OneBlank(std::string value) {
  absl::RemoveExtraAsciiWhitespace(&value);
  return value;
}

void ClaimSysctl(const v1::Step& step, Claims& claims) {
  const bool there = IsThere(step.sysctl().state());
  claims.Of(ParameterName(step.sysctl().key()))
      .WantThere(there)
      .WantIf(there, "value", OneBlank(step.sysctl().value()));
}

void ClaimSysctls(const v1::Step& step, Claims& claims) {
  const std::map<std::string, std::string> values(step.sysctls().values().begin(),
                                                  step.sysctls().values().end());
  claims.Of(absl::StrCat("sysctls ", step.sysctls().name()))
      .Want("list", absl::StrJoin(values, "\n", absl::PairFormatter("=")));
  for (const auto& [key, value] : values) {
    // A dash before the name marks a parameter that the kernel may lack.
    claims.Of(ParameterName(std::string(absl::StripPrefix(key, "-"))))
        .WantThere(true)
        .Want("value", OneBlank(value));
  }
}

void ClaimKernelModule(const v1::Step& step, Claims& claims) {
  const v1::KernelModuleResource& module = step.kernel_module();
  claims.Of(absl::StrCat("kernel module ", absl::StrReplaceAll(module.name(), {{"-", "_"}})))
      .Want(kState, module.state() == v1::KERNEL_MODULE_STATE_ABSENT        ? kAbsent
                    : module.state() == v1::KERNEL_MODULE_STATE_BLACKLISTED ? "blacklisted"
                                                                            : "loaded")
      .WantIfSaid("parameters", absl::StrJoin(module.parameters(), " "));
}

void ClaimOneMount(const v1::MountResource& mount, Claims& claims) {
  const bool there = mount.state() != v1::MOUNT_STATE_ABSENT;
  if (there) claims.OfPath(mount.path()).WantThere(true).Want(kType, kDirectory);
  claims.Of(absl::StrCat("mount ", mount.path()))
      .Want(kState, !there                                     ? kAbsent
                    : mount.state() == v1::MOUNT_STATE_DEFINED ? "defined"
                                                               : "mounted");
  if (!there) return;
  claims.Want("source", mount.source())
      .Want(kType, mount.fs_type())
      .Want("options", absl::StrJoin(mount.options(), ","));
}

void ClaimMount(const v1::Step& step, Claims& claims) { ClaimOneMount(step.mount(), claims); }

void ClaimMounts(const v1::Step& step, Claims& claims) {
  claims.Of(absl::StrCat("mounts ", step.mounts().name())).Want("list", BytesOf(step.mounts()));
  for (const v1::MountResource& mount : step.mounts().mounts()) ClaimOneMount(mount, claims);
}

void ClaimFileSystem(const v1::Step& step, Claims& claims) {
  const v1::FileSystemResource& spec = step.file_system();
  claims.Of(absl::StrCat("file system on ", spec.device()))
      .Want(kType, v1::FileSystemType_Name(spec.type()))
      .WantIfSaid("label", spec.label())
      .WantIfSaid("replaces_uuid", spec.replaces_uuid());
}

void ClaimContainerImage(const v1::Step& step, Claims& claims) {
  const v1::ContainerImageResource& image = step.container_image();
  const bool there = IsThere(image.state());
  if (image.runtime() == v1::CONTAINER_RUNTIME_ENROOT) {
    claims.OfPath(image.path())
        .WantThere(there)
        .WantIf(there, kType, kFile)
        .WantIf(there, kContent, image.image());
    return;
  }
  claims
      .Of(absl::StrCat("image ", image.image(), " of ",
                       image.runtime() == v1::CONTAINER_RUNTIME_DOCKER ? "docker" : "podman"))
      .WantThere(there)
      .WantIf(there, kContent, image.sha256());
}

void ClaimSlurmAccounts(const v1::Step& step, Claims& claims) {
  claims.Of(absl::StrCat("Slurm accounts of ", step.slurm_accounts().cluster()))
      .Want("list", BytesOf(step.slurm_accounts()));
}

void ClaimNothing(const v1::Step&, Claims&) {}

// Every kind of resource.
constexpr struct {
  v1::Step::ResourceCase kind;
  void (*claim)(const v1::Step&, Claims&);
} kKinds[] = {
    {v1::Step::kPackage, &ClaimPackage},
    {v1::Step::kPackageRepository, &ClaimRepository},
    {v1::Step::kPackageModule, &ClaimModule},
    // Two of them undo nothing of each other.
    {v1::Step::kPackageUpgrade, &ClaimNothing},
    {v1::Step::kFile, &ClaimFile},
    {v1::Step::kDirectory, &ClaimDirectory},
    {v1::Step::kSymlink, &ClaimSymlink},
    {v1::Step::kUnit, &ClaimUnit},
    {v1::Step::kUser, &ClaimUser},
    {v1::Step::kGroup, &ClaimGroup},
    {v1::Step::kCommand, &ClaimNothing},
    {v1::Step::kHostname, &ClaimHostname},
    {v1::Step::kLine, &ClaimLine},
    {v1::Step::kSysctl, &ClaimSysctl},
    {v1::Step::kSysctls, &ClaimSysctls},
    {v1::Step::kKernelModule, &ClaimKernelModule},
    {v1::Step::kMount, &ClaimMount},
    {v1::Step::kMounts, &ClaimMounts},
    {v1::Step::kAgent, &ClaimAgent},
    {v1::Step::kController, &ClaimController},
    {v1::Step::kDownload, &ClaimDownload},
    {v1::Step::kArchive, &ClaimArchive},
    {v1::Step::kFilesIn, &ClaimFilesIn},
    {v1::Step::kReboot, &ClaimNothing},
    {v1::Step::kFileSystem, &ClaimFileSystem},
    {v1::Step::kContainerImage, &ClaimContainerImage},
    {v1::Step::kSlurmAccounts, &ClaimSlurmAccounts},
};

bool Wants(const Claim& claim, absl::string_view what, absl::string_view value) {
  const std::pair<absl::string_view, uint64_t> wish(what, DigestOf(value));
  return std::binary_search(claim.wishes.begin(), claim.wishes.end(), wish);
}

// The wishes that both state, but differently.
std::vector<absl::string_view> Differences(const Claim& a, const Claim& b, bool across_plays) {
  std::vector<absl::string_view> found;
  for (const auto& [what, value] : a.wishes) {
    if (across_plays && what == kState) continue;
    for (const auto& [other_what, other_value] : b.wishes) {
      if (what == other_what && value != other_value) found.push_back(what);
    }
  }
  return found;
}

constexpr absl::string_view kRemedy =
    ": at every apply, each would undo the changes of the other. Remove one of them, or let `when` "
    "choose between them";

absl::Status Fight(const Claim& now, const Claim& before,
                   const std::vector<absl::string_view>& what) {
  return absl::InvalidArgumentError(absl::StrCat(
      now.place, ": '", now.task, "' sets a different ", absl::StrJoin(what, " and a different "),
      " of ", now.thing, " than '", before.task, "' at ", before.place, kRemedy));
}

// Claims on paths, by path.
using ByPath = std::multimap<std::string, const Claim*>;

// Calls `visit` with each claim below the folder.
template <typename Visit>
void ForEachBelow(const ByPath& paths, const std::string& folder, Visit visit) {
  const std::string prefix = folder + "/";
  for (auto it = paths.lower_bound(prefix);
       it != paths.end() && absl::StartsWith(it->first, prefix); ++it) {
    visit(*it->second, it->first.substr(prefix.size()));
  }
}

// Reports things that are wanted where another task wants no folder.
void CheckFolders(const ByPath& paths, ErrorList& errors) {
  for (const auto& [path, claim] : paths) {
    const bool removes = Wants(*claim, kState, kAbsent);
    if (!removes && !Wants(*claim, kType, kFile)) continue;
    ForEachBelow(paths, path, [&, owner = claim](const Claim& inner, const std::string&) {
      if (!Wants(inner, kState, kPresent)) return;
      errors.Add(absl::InvalidArgumentError(
          absl::StrCat(inner.place, ": '", inner.task, "' requires ", inner.thing, ", but '",
                       owner->task, "' at ", owner->place, " ",
                       removes ? "removes " : "writes a file to ", owner->thing, kRemedy)));
    });
  }
}

// Reports things that are written where a set of files removes all others.
void CheckPurged(const v1::Step& step, const ByPath& paths, ErrorList& errors) {
  const v1::FileSetResource& set = step.files_in();
  if (!set.purge()) return;
  std::set<std::string> own;
  for (const v1::FileSetEntry& file : set.files()) own.insert(file.name());
  const std::vector<Claim> claims = ClaimsOf(step);
  ForEachBelow(paths, claims.front().thing, [&](const Claim& inner, const std::string& name) {
    const bool is_removed =
        name.find('/') == std::string::npos && own.count(name) == 0 &&
        (Wants(inner, kType, kFile) || Wants(inner, kType, kLink)) &&
        std::none_of(set.keep().begin(), set.keep().end(), [&](const std::string& glob) {
          return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
        });
    if (!is_removed) return;
    errors.Add(absl::InvalidArgumentError(absl::StrCat(
        inner.place, ": '", inner.task, "' writes ", inner.thing, ", but '", step.name(), "' at ",
        step.source(), " removes all other files there (purge)", kRemedy)));
  });
}

}  // namespace

std::vector<Claim> ClaimsOf(const v1::Step& step) {
  Claims claims(step);
  for (const auto& row : kKinds) {
    if (row.kind == step.resource_case()) row.claim(step, claims);
  }
  return claims.Take();
}

}  // namespace playbook

absl::Status RunOwners::Take(const v1::Plan& plan) {
  using playbook::Claim;
  std::vector<Claim> claims;
  for (const v1::RolePlan& role : plan.roles()) {
    for (const v1::Step& step : role.steps()) {
      for (Claim& claim : playbook::ClaimsOf(step)) claims.push_back(std::move(claim));
    }
  }
  playbook::ErrorList errors;
  std::multimap<absl::string_view, const Claim*> owners;
  const auto check = [&](const Claim& claim, const Claim& before, bool across_plays) {
    const auto what = playbook::Differences(claim, before, across_plays);
    if (!what.empty()) errors.Add(playbook::Fight(claim, before, what));
  };
  std::map<uint32_t, Claims>& plays = of_node_[plan.node_name()];
  std::multimap<absl::string_view, const Claim*> earlier;
  for (const auto& [play, list] : plays) {
    if (play >= plan.play_index()) break;
    for (const Claim* claim : list) earlier.emplace(claim->thing, claim);
  }
  playbook::ByPath paths;
  for (const Claim& claim : claims) {
    const auto [begin, end] = owners.equal_range(claim.thing);
    for (auto it = begin; it != end; ++it) check(claim, *it->second, /*across_plays=*/false);
    owners.emplace(claim.thing, &claim);
    const auto [first, last] = earlier.equal_range(claim.thing);
    for (auto it = first; it != last; ++it) check(claim, *it->second, /*across_plays=*/true);
    if (claim.thing[0] == '/') paths.emplace(claim.thing, &claim);
  }
  playbook::CheckFolders(paths, errors);
  for (const v1::RolePlan& role : plan.roles()) {
    for (const v1::Step& step : role.steps()) playbook::CheckPurged(step, paths, errors);
  }
  Claims& kept = plays[plan.play_index()];
  kept.clear();
  if (!errors.empty()) return errors.ToStatus();
  for (Claim& claim : claims) kept.push_back(&*known_.insert(std::move(claim)).first);
  return absl::OkStatus();
}

}  // namespace muster::controller
