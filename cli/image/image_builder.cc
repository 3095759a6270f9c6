#include "cli/image/image_builder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "cli/connection.h"
#include "cli/image/build_calls.h"
#include "cli/image/build_folder.h"
#include "cli/image/files_digest.h"
#include "cli/image/role_layers.h"
#include "cli/image/root_commands.h"
#include "cli/image/signing/module_signer.h"
#include "cli/render/output.h"
#include "cli/site/site_bundle.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/version.h"
#include "common/image/distribution.h"
#include "common/sys/archive/decompress.h"
#include "common/sys/file_system.h"
#include "common/sys/large_file.h"
#include "common/sys/process/process.h"
#include "common/sys/process/process_control.h"
#include "common/value/image_manifest.h"
#include "muster/v1/facts.pb.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

// A kernel with its headers, or a role that builds a driver, takes its time on a small machine.
constexpr absl::Duration kProgramTimeout = absl::Hours(2);
constexpr char kAgent[] = "/usr/bin/muster-agent";

// Runs programs that Ctrl-C stops together with whatever they have started.
class Programs {
 public:
  explicit Programs(const BuildMeans& means, bool is_verbose)
      : means_(means), is_verbose_(is_verbose) {}

  // Its standard output. `environment` is added to what every program gets.
  absl::StatusOr<std::string> Run(std::vector<std::string> argv,
                                  std::map<std::string, std::string> environment = {}) {
    sys::ProcessControl control;
    sys::ProcessSpec spec{.argv = std::move(argv),
                          .environment = std::move(environment),
                          .control = &control,
                          .timeout = kProgramTimeout};
    spec.max_output = size_t{1} << 20;
    spec.die_with_parent = true;
    if (is_verbose_) {
      spec.on_error_line = [this](absl::string_view line) { means_.say(line); };
    }
    control.CloseInput();
    absl::Notification has_ended;
    std::thread watch([&] {
      while (!has_ended.WaitForNotificationWithTimeout(InterruptFlag::kInterval)) {
        if (InterruptFlag::IsSet()) control.Stop();
      }
    });
    sys::RealProcessRunner runner;
    const absl::StatusOr<sys::ProcessResult> result = runner.Run(spec);
    has_ended.Notify();
    watch.join();
    if (InterruptFlag::IsSet()) return absl::CancelledError("stopped; nothing was kept");
    RETURN_IF_ERROR(result.status());
    spec.argv = {ProgramOf(spec.argv)};
    RETURN_IF_ERROR(CheckSuccess(spec, *result));
    return result->out;
  }

 private:
  const BuildMeans& means_;
  const bool is_verbose_;
};

// One build, stage after stage.
class Builder {
 public:
  Builder(const ImageBuild& build, const BuildMeans& means)
      : build_(build), means_(means), programs_(means, build.is_verbose) {}

  absl::StatusOr<v1::ImageManifest> Run() {
    ASSIGN_OR_RETURN(definition_, ReadDefinition(build_.site, build_.name));
    if (!build_.keys.empty())
      RETURN_IF_ERROR(Annotate(image::CheckSigningOf(definition_.distribution),
                               absl::StrCat("image ", build_.name)));
    ASSIGN_OR_RETURN(bundle_, PackImage(build_.site, build_.name));
    RETURN_IF_ERROR(UploadBundle(means_.connection, bundle_));
    ASSIGN_OR_RETURN(const v1::PlanImageResponse before,
                     PlanImage(means_.connection, bundle_.sha256, build_.name, nullptr));
    packages_at_ = PackagesAt(before);
    direct_hosts_ = HostsOf(before.repositories());
    RETURN_IF_ERROR(Timed("base", [&] { return MakeBaseLayer(before); }));
    RETURN_IF_ERROR(Timed("roles", [&] { return ApplyRoles(); }));
    if (!build_.keys.empty()) RETURN_IF_ERROR(Timed("sign", [&] { return SignTheModules(); }));
    RETURN_IF_ERROR(Timed("seal", [&] { return SealTheRoot(); }));
    RETURN_IF_ERROR(Timed("pack", [&] { return Pack(); }));
    FillManifest();
    RETURN_IF_ERROR(CheckImageManifest(manifest_));
    return manifest_;
  }

 private:
  // What a stage has to say for itself is in note_ afterwards.
  absl::Status Timed(absl::string_view stage, const std::function<absl::Status()>& run) {
    const absl::Time begin = means_.clock.Now();
    note_.clear();
    RETURN_IF_ERROR(Annotate(run(), absl::StrCat("image ", build_.name, ", ", stage)));
    means_.say(absl::StrFormat("  %-6s %6.1f s  %s", stage,
                               absl::ToDoubleSeconds(means_.clock.Now() - begin), note_));
    return absl::OkStatus();
  }

  // Without a snapshot the archive is what it is today; a day's builds share the layer.
  absl::Time PackagesAt(const v1::PlanImageResponse& planned) {
    if (planned.has_packages_at()) return ToTime(planned.packages_at());
    return absl::FromCivil(absl::ToCivilDay(means_.clock.Now(), absl::UTCTimeZone()),
                           absl::UTCTimeZone());
  }

  absl::StatusOr<PackageSource> Source(const v1::PlanImageResponse& planned) {
    PackageSource source;
    if (build_.sources.empty()) {
      source.snapshot_text = SourcesText(planned.repositories());
      return source;
    }
    if (!definition_.snapshot.empty())
      return absl::InvalidArgumentError(absl::StrCat(
          "the definition of ", build_.name, " names the snapshot ", definition_.snapshot,
          ", which --sources would replace; leave out one of the two"));
    std::error_code error;
    source.file = fs::canonical(build_.sources, error).string();
    if (error)
      return absl::NotFoundError(absl::StrCat("--sources ", build_.sources, ": ", error.message()));
    ASSIGN_OR_RETURN(source.file_text, files_.Read(source.file));
    return source;
  }

  absl::Status MakeBaseLayer(const v1::PlanImageResponse& planned) {
    ASSIGN_OR_RETURN(const std::string architecture, Architecture());
    ASSIGN_OR_RETURN(const std::string agent_sha256, AgentPackageFor(planned, architecture));
    ASSIGN_OR_RETURN(const PackageSource source, Source(planned));
    BaseRecipe recipe{.definition = definition_,
                      .source = source,
                      .agent_package = means_.folder.File("muster-agent.deb"),
                      .agent_sha256 = agent_sha256,
                      .packages_at = packages_at_,
                      .proxy = build_.proxy,
                      .direct_hosts = direct_hosts_};
    ASSIGN_OR_RETURN(const std::vector<std::string> folders, AddFiles(recipe));
    base_digest_ = BaseDigest(recipe);
    if (!build_.is_fresh && means_.folder.Use(means_.folder.BasePath(base_digest_))) {
      note_ = "from the cache";
    } else {
      RETURN_IF_ERROR(ReadAgentPackage(means_.connection, agent_sha256, recipe.agent_package));
      for (size_t i = 0; i < folders.size(); ++i)
        RETURN_IF_ERROR(programs_.Run(PackFiles(folders[i], recipe.files[i])).status());
      std::string sources = source.file;
      if (!source.snapshot_text.empty()) {
        sources = means_.folder.File("snapshot.sources");
        RETURN_IF_ERROR(files_.WriteAtomically(sources, source.snapshot_text, {}));
      }
      RETURN_IF_ERROR(
          programs_.Run(MakeBase(recipe, sources, means_.folder.NewLayer()), Environment())
              .status());
      RETURN_IF_ERROR(means_.folder.KeepBase(base_digest_));
      note_ = absl::StrCat(definition_.distribution, " ",
                           definition_.snapshot.empty() ? "as it is" : definition_.snapshot);
    }
    return programs_.Run(UnpackBase(means_.folder.BasePath(base_digest_), Place())).status();
  }

  // Returns the folders that the recipe's tar files are of.
  absl::StatusOr<std::vector<std::string>> AddFiles(BaseRecipe& recipe) {
    std::vector<std::string> folders;
    for (const image::Reference& each : definition_.files) {
      std::error_code error;
      folders.push_back(
          fs::weakly_canonical(absl::StrCat(build_.site, "/", image::kImageFolder, "/", each.text),
                               error)
              .string());
      absl::StatusOr<std::string> digest = FilesDigest(folders.back());
      if (!digest.ok()) return definition_.document.Error(each.node, digest.status().message());
      recipe.files_sha256.push_back(*std::move(digest));
      recipe.files.push_back(means_.folder.File(absl::StrCat("files-", folders.size(), ".tar")));
    }
    return folders;
  }

  absl::StatusOr<std::string> Architecture() {
    ASSIGN_OR_RETURN(std::string out, programs_.Run({"dpkg", "--print-architecture"}));
    absl::StripAsciiWhitespace(&out);
    return out;
  }

  absl::StatusOr<std::string> AgentPackageFor(const v1::PlanImageResponse& planned,
                                              const std::string& architecture) {
    for (const v1::OfferedPackage& each : planned.agent_packages()) {
      if (each.architecture() == architecture) return each.sha256();
    }
    return absl::FailedPreconditionError(
        absl::StrCat("the controller has no package of its agent for ", architecture,
                     "; put one into its folder of packages (docs/operations.md)"));
  }

  absl::Status ApplyRoles() {
    ASSIGN_OR_RETURN(const std::string facts_bytes,
                     programs_.Run(InRoot(Place(), Network::kYes, {kAgent, "image", "facts"})));
    v1::Facts facts;
    if (!facts.ParseFromString(facts_bytes))
      return absl::DataLossError("the agent in the root did not write facts");
    manifest_.set_architecture(facts.os().package_architecture());
    ASSIGN_OR_RETURN(const v1::PlanImageResponse planned,
                     PlanImage(means_.connection, bundle_.sha256, build_.name, &facts));
    *manifest_.mutable_roles() = planned.roles();
    for (const v1::ImageBlob& blob : planned.blobs())
      RETURN_IF_ERROR(files_.WriteAtomically(
          absl::StrCat(means_.folder.Exchange(), "/blobs/", blob.sha256()), blob.content(), {}));
    const std::vector<RoleLayer> layers = RoleLayers(base_digest_, planned.plan(), planned.roles());
    ASSIGN_OR_RETURN(const size_t kept, LayKeptLayers(layers));
    const std::string notes = means_.folder.File("notes");
    if (kept < layers.size()) RETURN_IF_ERROR(programs_.Run(NoteRoot(Place(), notes)).status());
    size_t changed = 0;
    for (size_t i = kept; i < layers.size(); ++i) {
      RETURN_IF_ERROR(ApplyRole(layers[i].plan, changed));
      RETURN_IF_ERROR(
          programs_.Run(PackChanges(Place(), notes, means_.folder.NewLayer())).status());
      RETURN_IF_ERROR(means_.folder.KeepRole(base_digest_, layers[i].digest));
    }
    note_ = absl::StrCat(Counted(layers.size(), "role"), ", ", kept, " of them from the cache; ",
                         Counted(changed, "step"), " changed the root");
    return absl::OkStatus();
  }

  // Unpacks layers up to the first that is not kept; returns how many.
  absl::StatusOr<size_t> LayKeptLayers(const std::vector<RoleLayer>& layers) {
    size_t kept = 0;
    for (; !build_.is_fresh && kept < layers.size(); ++kept) {
      const std::string path = means_.folder.RolePath(base_digest_, layers[kept].digest);
      if (!means_.folder.Use(path)) break;
      RETURN_IF_ERROR(programs_.Run(UnpackChanges(path, Place())).status());
    }
    return kept;
  }

  // Adds to `changed` how many steps have changed the root.
  absl::Status ApplyRole(const v1::Plan& plan, size_t& changed) {
    RETURN_IF_ERROR(
        files_.WriteAtomically(means_.folder.Exchange() + "/plan", plan.SerializeAsString(), {}));
    std::vector<std::string> argv = {kAgent,
                                     "image",
                                     "apply",
                                     "--plan",
                                     InRootPath("plan"),
                                     "--blobs",
                                     InRootPath("blobs"),
                                     "--report",
                                     InRootPath("report")};
    if (!build_.proxy.empty()) argv.insert(argv.end(), {"--proxy", build_.proxy});
    const absl::StatusOr<std::string> said =
        programs_.Run(InRoot(Place(), Network::kYes, argv), Environment());
    if (build_.is_verbose && said.ok()) means_.say(*said);
    RETURN_IF_ERROR(said.status());
    ASSIGN_OR_RETURN(const std::string bytes, files_.Read(means_.folder.Exchange() + "/report"));
    v1::ImageApplyReport report;
    if (!report.ParseFromString(bytes))
      return absl::DataLossError("the agent in the root wrote no report");
    for (const v1::StepResult& result : report.results())
      changed += result.status() == v1::STEP_STATUS_CHANGED;
    return absl::OkStatus();
  }

  absl::Status SignTheModules() {
    sys::RealProcessRunner processes;
    ASSIGN_OR_RETURN(
        const std::vector<std::string> modules,
        SignModules(means_.folder.Root(), build_.keys, means_.folder.Result(), processes));
    note_ = absl::StrCat(Counted(modules.size(), "module"), " of the root's own");
    return absl::OkStatus();
  }

  absl::Status SealTheRoot() {
    std::vector<std::string> argv = {kAgent,
                                     "image",
                                     "seal",
                                     "--root",
                                     kRootInRoot,
                                     "--newest",
                                     absl::StrCat(absl::ToUnixSeconds(packages_at_)),
                                     "--manifest",
                                     InRootPath("manifest"),
                                     "--files",
                                     InRootPath("files")};
    DescribeImage();
    if (manifest_.has_disk()) {
      // The machine that it boots on writes it to its disk without asking anybody.
      RETURN_IF_ERROR(files_.WriteAtomically(means_.folder.Exchange() + "/image",
                                             manifest_.SerializeAsString(), {}));
      argv.insert(argv.end(), {"--image", InRootPath("image")});
    }
    RETURN_IF_ERROR(programs_.Run(InRoot(Place(), Network::kNo, argv)).status());
    ASSIGN_OR_RETURN(const std::string bytes, files_.Read(means_.folder.Exchange() + "/manifest"));
    v1::ImageManifest sealed;
    if (!sealed.ParseFromString(bytes))
      return absl::DataLossError("the agent in the root wrote no list of packages");
    *manifest_.mutable_packages() = sealed.packages();
    note_ = absl::StrCat(sealed.packages_size(), " packages");
    return absl::OkStatus();
  }

  absl::Status Pack() {
    RETURN_IF_ERROR(programs_
                        .Run(PackRoot(Place(), packages_at_, definition_.kind,
                                      absl::StrCat(means_.folder.Result(), "/", kRootArtifact)))
                        .status());
    RETURN_IF_ERROR(CopyBootFile("vmlinuz-", "kernel"));
    RETURN_IF_ERROR(CopyBootFile("initrd.img-", "initrd"));
    ASSIGN_OR_RETURN(const std::string list,
                     files_.Read(means_.folder.Exchange() + "/files", size_t{512} << 20));
    ASSIGN_OR_RETURN(const std::string packed, sys::CompressGz(list));
    RETURN_IF_ERROR(files_.WriteAtomically(
        absl::StrCat(means_.folder.Result(), "/", kFilesArtifact), packed, {}));
    uint64_t bytes = 0;
    for (const char* name : {kRootArtifact, "kernel", "initrd", kFilesArtifact}) {
      const std::string path = absl::StrCat(means_.folder.Result(), "/", name);
      v1::ImageArtifact& artifact = *manifest_.add_artifacts();
      artifact.set_name(name);
      ASSIGN_OR_RETURN(*artifact.mutable_sha256(), sys::Sha256OfFile(path));
      std::error_code error;
      artifact.set_size_bytes(fs::file_size(path, error));
      bytes += artifact.size_bytes();
    }
    note_ = HumanBytes(bytes);
    return absl::OkStatus();
  }

  // Copies the only file in /boot whose name begins so.
  absl::Status CopyBootFile(const std::string& beginning, const std::string& artifact) {
    const std::string boot = means_.folder.Root() + "/boot";
    ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(boot));
    std::string found;
    for (const std::string& name : names) {
      if (!absl::StartsWith(name, beginning)) continue;
      if (!found.empty())
        return absl::FailedPreconditionError(absl::StrCat("the root has several kernels, /boot/",
                                                          found, " and /boot/", name,
                                                          "; leave one of their packages out"));
      found = name;
    }
    if (found.empty())
      return absl::FailedPreconditionError(absl::StrCat("the root has no /boot/", beginning,
                                                        "*: ", definition_.kernel,
                                                        " is not a kernel's package"));
    std::error_code error;
    fs::copy_file(absl::StrCat(boot, "/", found),
                  absl::StrCat(means_.folder.Result(), "/", artifact),
                  fs::copy_options::overwrite_existing, error);
    if (!error) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("copying /boot/", found, ": ", error.message()));
  }

  // What the definition says.
  void DescribeImage() {
    manifest_.set_name(definition_.name);
    manifest_.set_kind(definition_.kind);
    manifest_.set_distribution(definition_.distribution);
    manifest_.set_snapshot(definition_.snapshot);
    for (const std::string& argument : definition_.kernel_arguments)
      manifest_.add_kernel_arguments(argument);
    if (definition_.kind != image::kDiskKind) return;
    v1::DiskLayout& disk = *manifest_.mutable_disk();
    disk.set_device(definition_.disk.device);
    disk.set_esp_mib(static_cast<uint64_t>(definition_.disk.esp_mib));
    disk.set_root_mib(static_cast<uint64_t>(definition_.disk.root_mib));
    disk.set_state_mib(static_cast<uint64_t>(definition_.disk.state_mib));
    for (const image::DiskPartition& each : definition_.disk.partitions) {
      v1::DiskPartition& partition = *disk.add_partitions();
      partition.set_name(each.name);
      partition.set_file_system(each.file_system);
      partition.set_mib(static_cast<uint64_t>(each.mib));
    }
  }

  // The rest, and how it was built.
  void FillManifest() {
    SortImageManifest(manifest_);
    v1::ImageBuild& how = *manifest_.mutable_build();
    *how.mutable_at() = ToTimestamp(means_.clock.Now());
    how.set_by(PersonOf(means_.connection));
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) == 0) how.set_on(host);
    how.set_muster_version(kVersion);
    how.set_bundle_sha256(bundle_.sha256);
    // A site need not be a repository, nor the machine have git.
    absl::StatusOr<std::string> revision =
        programs_.Run({"git", "-C", build_.site, "describe", "--always", "--dirty"});
    if (!revision.ok()) return;
    absl::StripAsciiWhitespace(&*revision);
    how.set_revision(*revision);
  }

  BuildPlace Place() const {
    std::error_code error;
    return {.root = means_.folder.Root(),
            .exchange = means_.folder.Exchange(),
            .is_resolver_linked = fs::is_symlink(means_.folder.Root() + "/etc/resolv.conf", error)};
  }
  static std::string InRootPath(const std::string& name) {
    return absl::StrCat(kExchangeInRoot, "/", name);
  }
  std::map<std::string, std::string> Environment() const {
    std::map<std::string, std::string> variables = {
        {"DEBIAN_FRONTEND", "noninteractive"},
        {"SOURCE_DATE_EPOCH", absl::StrCat(absl::ToUnixSeconds(packages_at_))},
        // dpkg's own defaults, and no wait for the disk after each file.
        {"DPKG_FORCE", "security-mac,downgrade,unsafe-io"},
        {"TMPDIR", means_.folder.Scratch()}};
    if (!direct_hosts_.empty()) variables["no_proxy"] = absl::StrJoin(direct_hosts_, ",");
    return variables;
  }

  const ImageBuild& build_;
  const BuildMeans& means_;
  Programs programs_;
  sys::RealFileSystem files_;
  image::Definition definition_;
  SiteBundle bundle_;
  std::string base_digest_;
  absl::Time packages_at_;
  std::vector<std::string> direct_hosts_;  // of the snapshot's repositories
  v1::ImageManifest manifest_;
  std::string note_;
};

}  // namespace

absl::StatusOr<v1::ImageManifest> BuildImage(const ImageBuild& build, const BuildMeans& means) {
  const InterruptFlag interrupt;
  return Builder(build, means).Run();
}

}  // namespace muster::cli
