#include "cli/image/root_commands.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/digest.h"
#include "common/image/distribution.h"

namespace muster::cli {
namespace {

// Raise it when MakeBase() makes something else of the same recipe.
constexpr int kBaseFormat = 2;

// What every image has, so that it boots and the agent runs in it.
constexpr const char* kBasePackages[] = {
    "systemd",         "systemd-sysv",    "dbus", "udev",     "kmod", "iproute2",
    "ca-certificates", "initramfs-tools", "zstd", "e2fsprogs"};

// What writes a disk and boots it, in images of the kind `disk`.
constexpr const char* kDiskPackages[] = {"fdisk", "dosfstools", "systemd-boot-efi"};
constexpr char kXfsPackage[] = "xfsprogs";

// Where /etc/resolv.conf leads to in a root with systemd-resolved, which does not run there.
constexpr char kResolverFolder[] = "/run/systemd/resolve";
constexpr char kResolverFile[] = "/run/systemd/resolve/stub-resolv.conf";

std::string Packages(const image::Definition& definition) {
  std::vector<std::string> all(std::begin(kBasePackages), std::end(kBasePackages));
  if (definition.kind == image::kDiskKind) {
    all.insert(all.end(), std::begin(kDiskPackages), std::end(kDiskPackages));
    const auto& partitions = definition.disk.partitions;
    if (std::any_of(partitions.begin(), partitions.end(),
                    [](const auto& each) { return each.file_system == "xfs"; }))
      all.emplace_back(kXfsPackage);
  }
  all.push_back(definition.kernel);
  all.insert(all.end(), definition.packages.begin(), definition.packages.end());
  return absl::StrJoin(all, ",");
}

std::string Seconds(absl::Time time) { return absl::StrCat(absl::ToUnixSeconds(time)); }

std::vector<std::string> AsRootOfNamespace() {
  return {"unshare", "--user", "--map-root-user", "--map-auto"};
}

std::vector<std::string> Join(std::vector<std::string> first,
                              const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// On the root, whose device files cannot be made here; every boot makes its own.
std::vector<std::string> Tar(const std::vector<std::string>& options, const BuildPlace& place) {
  return Join(Join(AsRootOfNamespace(), {"tar"}),
              Join(options, {"--directory", place.root, "--numeric-owner", "--xattrs",
                             "--xattrs-include=*", "--exclude=./dev/*"}));
}

}  // namespace

std::string SourcesText(
    const google::protobuf::RepeatedPtrField<v1::ImageRepository>& repositories) {
  std::string text;
  for (const v1::ImageRepository& each : repositories) {
    // A snapshot's indexes are older than they say that they may be.
    absl::StrAppend(&text, text.empty() ? "" : "\n", "Types: deb\nURIs: ", each.uri(),
                    "\nSuites: ", absl::StrJoin(each.suites(), " "),
                    "\nComponents: ", absl::StrJoin(each.components(), " "),
                    "\nCheck-Valid-Until: no\nSigned-By:");
    if (!each.signed_by().empty()) {
      absl::StrAppend(&text, " ", each.signed_by(), "\n");
      continue;
    }
    absl::StrAppend(&text, "\n");
    // A blank line would end the paragraph.
    for (const absl::string_view line :
         absl::StrSplit(absl::StripAsciiWhitespace(each.key()), '\n'))
      absl::StrAppend(&text, " ", absl::StripAsciiWhitespace(line).empty() ? "." : line, "\n");
  }
  return text;
}

std::vector<std::string> HostsOf(
    const google::protobuf::RepeatedPtrField<v1::ImageRepository>& repositories) {
  std::vector<std::string> hosts;
  for (const v1::ImageRepository& each : repositories) {
    absl::string_view rest = each.uri();
    rest = absl::StripPrefix(rest, "http://");
    rest = rest.substr(0, rest.find('/'));
    // A port, but nothing within an address of IPv6.
    if (const size_t colon = rest.rfind(':');
        colon != rest.npos && rest.find(']', colon) == rest.npos)
      rest = rest.substr(0, colon);
    const std::string host(absl::StripSuffix(absl::StripPrefix(rest, "["), "]"));
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  return hosts;
}

std::string BaseDigest(const BaseRecipe& recipe) {
  const image::Definition& definition = recipe.definition;
  // Each part is on lines of its own, which none of them can contain.
  return Sha256Hex(absl::StrJoin(
      {absl::StrCat(kBaseFormat), definition.distribution, Packages(definition),
       absl::StrJoin(definition.leave_out, ","), Sha256Hex(recipe.source.snapshot_text),
       Sha256Hex(recipe.source.file_text), absl::StrJoin(recipe.files_sha256, ","),
       recipe.agent_sha256, Seconds(recipe.packages_at)},
      "\n"));
}

std::vector<std::string> PackFiles(const std::string& folder, const std::string& target) {
  return {"tar",       "--create",  "--file",      target,        "--directory",     folder,
          "--owner=0", "--group=0", "--mode=go-w", "--sort=name", "--numeric-owner", "."};
}

std::vector<std::string> MakeBase(const BaseRecipe& recipe, const std::string& sources,
                                  const std::string& target) {
  const image::Distribution& distribution =
      *image::FindDistribution(recipe.definition.distribution);
  std::vector<std::string> argv = {
      "mmdebstrap", "--mode=unshare", "--format=tar", "--variant=apt",
      // Roles find packages in them; they leave when the root is complete.
      "--skip=cleanup/apt/lists",
      absl::StrCat("--components=", absl::StrJoin(distribution.components, ",")),
      absl::StrCat("--include=", Packages(recipe.definition))};
  for (const std::string& pattern : recipe.definition.leave_out)
    argv.push_back(absl::StrCat("--dpkgopt=path-exclude=", pattern));
  if (!recipe.proxy.empty()) {
    argv.push_back(absl::StrCat("--aptopt=Acquire::http::Proxy \"", recipe.proxy, "\""));
    argv.push_back(absl::StrCat("--aptopt=Acquire::https::Proxy \"", recipe.proxy, "\""));
  }
  for (const std::string& host : recipe.direct_hosts)
    argv.push_back(absl::StrCat("--aptopt=Acquire::http::Proxy::", host, " \"DIRECT\""));
  // Before the kernel's package makes its initramfs.
  for (const std::string& file : recipe.files)
    argv.push_back(absl::StrCat("--essential-hook=tar-in ", file, " /"));
  argv.push_back(
      absl::StrCat("--customize-hook=upload ", recipe.agent_package, " /tmp/muster-agent.deb"));
  // What this machine knows of names, for as long as packages are fetched.
  argv.push_back(absl::StrCat("--customize-hook=mkdir -p \"$1\"", kResolverFolder,
                              "; cp /etc/resolv.conf \"$1\"", kResolverFile,
                              "; if [ -e \"$1\"/etc/hosts ]; then mv \"$1\"/etc/hosts \"$1\"",
                              kResolverFolder, "/hosts; fi; cp /etc/hosts \"$1\"/etc/hosts"));
  argv.push_back(
      "--customize-hook=chroot \"$1\" apt-get install --yes -o Dpkg::Use-Pty=0 "
      "/tmp/muster-agent.deb");
  argv.push_back(absl::StrCat(
      "--customize-hook=rm \"$1\"/tmp/muster-agent.deb \"$1\"/etc/hosts; if [ -e \"$1\"",
      kResolverFolder, "/hosts ]; then mv \"$1\"", kResolverFolder,
      "/hosts \"$1\"/etc/hosts; fi; rm -r \"$1\"", kResolverFolder));
  // Proxies are the build machine's affair.
  argv.push_back("--customize-hook=rm -f \"$1\"/etc/apt/apt.conf.d/99mmdebstrap");
  argv.push_back(std::string(distribution.codename));
  argv.push_back(target);
  if (!sources.empty()) argv.push_back(sources);
  return argv;
}

std::vector<std::string> UnpackBase(const std::string& base, const BuildPlace& place) {
  return Tar({"--extract", "--file", base}, place);
}

std::vector<std::string> NoteRoot(const BuildPlace& place, const std::string& notes) {
  // tar knows that this file needs no contents, and reads none.
  return PackChanges(place, notes, "/dev/null");
}

std::vector<std::string> PackChanges(const BuildPlace& place, const std::string& notes,
                                     const std::string& target) {
  // What apt has read of its lists is 90 MB, and is read again in a second.
  return Join(Tar({"--create", "--file", target, "--listed-incremental", notes,
                   "--exclude=./var/cache/apt/*.bin"},
                  place),
              {"."});
}

std::vector<std::string> UnpackChanges(const std::string& layer, const BuildPlace& place) {
  // With notes, of which it reads none here, tar deletes as well.
  return Tar({"--extract", "--file", layer, "--listed-incremental", "/dev/null"}, place);
}

std::vector<std::string> InRoot(const BuildPlace& place, Network network,
                                const std::vector<std::string>& argv) {
  // Not the machine's /etc/hosts: roles write the root's.
  std::vector<std::string> all = Join(AsRootOfNamespace(), {"bwrap",
                                                            "--bind",
                                                            place.root,
                                                            "/",
                                                            "--dev",
                                                            "/dev",
                                                            "--proc",
                                                            "/proc",
                                                            "--tmpfs",
                                                            "/run",
                                                            "--perms",
                                                            "1777",
                                                            "--tmpfs",
                                                            "/tmp",
                                                            "--bind",
                                                            place.exchange,
                                                            kExchangeInRoot,
                                                            "--unshare-pid",
                                                            "--unshare-ipc",
                                                            "--unshare-uts",
                                                            "--hostname",
                                                            "localhost",
                                                            "--die-with-parent",
                                                            "--cap-add",
                                                            "ALL",
                                                            "--chdir",
                                                            "/"});
  if (network == Network::kNo) {
    all = Join(std::move(all), {"--bind", place.root, kRootInRoot, "--unshare-net"});
  } else {
    all = Join(std::move(all), {"--ro-bind", "/etc/resolv.conf", kResolverFile});
    if (!place.is_resolver_linked)
      all = Join(std::move(all), {"--ro-bind", "/etc/resolv.conf", "/etc/resolv.conf"});
  }
  all.push_back("--");
  return Join(std::move(all), argv);
}

std::vector<std::string> PackRoot(const BuildPlace& place, absl::Time packages_at,
                                  absl::string_view kind, const std::string& target) {
  std::vector<std::string> argv =
      Join(AsRootOfNamespace(),
           {"mksquashfs", place.root, target, "-comp", "zstd", "-Xcompression-level", "3",
            "-noappend", "-no-progress", "-quiet", "-no-exports", "-mkfs-time",
            Seconds(packages_at), "-wildcards", "-e", "dev/*"});
  // A root on a disk has its kernel and its initramfs with it, under its digest.
  if (kind != image::kDiskKind) argv.emplace_back("boot/*");
  return argv;
}

std::string ProgramOf(const std::vector<std::string>& argv) {
  const std::vector<std::string> namespaced = AsRootOfNamespace();
  auto program = argv.begin();
  if (argv.size() > namespaced.size() &&
      std::equal(namespaced.begin(), namespaced.end(), argv.begin()))
    program += static_cast<ptrdiff_t>(namespaced.size());
  if (*program == "bwrap") program = std::next(std::find(program, argv.end(), "--"));
  return *program;
}

std::vector<std::string> RemoveFolders(const std::vector<std::string>& folders) {
  return Join(Join(AsRootOfNamespace(), {"rm", "-rf", "--one-file-system", "--"}), folders);
}

}  // namespace muster::cli
