#include "agent/resources/makers.h"

#include <string.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/resources/check_values.h"
#include "agent/sys/boot_words.h"
#include "common/base/status.h"
#include "common/base/text/disk_image.h"
#include "common/base/text/kernel_arguments.h"
#include "common/sys/boot_id.h"
#include "common/sys/newest_kernel.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

// Debian's convention: a package that needs a reboot makes the file and adds its name to the other.
constexpr char kRequired[] = "/run/reboot-required";
constexpr char kRequiredBy[] = "/run/reboot-required.pkgs";
constexpr char kRunningKernel[] = "/proc/sys/kernel/osrelease";
constexpr size_t kNamesShown = 5;

// "6.1.0-18" for "6.1.0-18-cloud-amd64": flavours of one version are neither older nor newer.
std::string VersionOf(absl::string_view release) {
  std::vector<absl::string_view> parts;
  for (const absl::string_view part : absl::StrSplit(release, '-')) {
    if (part.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(part[0]))) break;
    parts.push_back(part);
  }
  return absl::StrJoin(parts, "-");
}

// The newest kernel that the boot loader could start; "" when there is none.
absl::StatusOr<std::string> NewestKernel(sys::FileSystem& files) {
  const auto names = files.List("/boot");
  if (absl::IsNotFound(names.status())) return std::string();
  RETURN_IF_ERROR(names.status());
  return sys::NewestKernel(*names, [&](const std::string& release) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const auto modules, files.Stat(absl::StrCat("/lib/modules/", release)));
    return modules.has_value();
  });
}

std::string RequiredBy(sys::FileSystem& files) {
  const auto text = files.Read(kRequiredBy);
  if (!text.ok()) return "";
  std::vector<std::string> names = absl::StrSplit(*text, '\n', absl::SkipWhitespace());
  const size_t count = names.size();
  if (count > kNamesShown) names.resize(kNamesShown);
  return names.empty() ? ""
                       : absl::StrCat(" (", absl::StrJoin(names, ", "),
                                      count > kNamesShown ? ", …" : "", ")");
}

// What on the node asks for a reboot: "/run/reboot-required (linux-image-amd64)", "kernel 6.1.0-20
// is installed but 6.1.0-18 is running". Empty: nothing does.
absl::StatusOr<std::string> WhyReboot(sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::string line, ReadBootArguments(files));
  std::map<std::string, std::string> arguments = ParseKernelArguments(line);
  const bool runs_image = arguments["boot"] == "muster";
  // A root in memory loses what was installed, so that it would ask for a reboot after each one.
  if (runs_image && arguments.count("muster.slot") == 0) return std::string();
  ASSIGN_OR_RETURN(const auto required, files.Stat(kRequired));
  if (required.has_value()) return absl::StrCat(kRequired, RequiredBy(files));
  if (runs_image) return std::string();  // the boot loader starts no kernel but the image's
  ASSIGN_OR_RETURN(const std::string newest, NewestKernel(files));
  if (newest.empty()) return std::string();
  ASSIGN_OR_RETURN(std::string running, files.Read(kRunningKernel));
  absl::StripAsciiWhitespace(&running);
  if (::strverscmp(VersionOf(newest).c_str(), VersionOf(running).c_str()) <= 0)
    return std::string();
  return absl::StrCat("kernel ", newest, " is installed but ", running, " is running");
}

// Why the node is to boot another image than the one that it runs from its disk; "": it runs
// `image`.
absl::StatusOr<std::string> WhyImage(const std::string& image, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::string arguments, ReadBootArguments(files));
  const std::string runs = DiskImageOf(arguments);
  if (runs.empty()) {
    return absl::FailedPreconditionError(
        "the node does not run from an image on its disk, and a reboot can give no other node "
        "another image: have it written first (`muster boot set`)");
  }
  if (IsSameBuild(runs, image)) return std::string();
  return absl::StrCat("the node runs ", runs, " from its disk, and is to run ", image);
}

// Why the step is to reboot the node, in the words of the playbook and of what was found. "": it is
// not.
absl::StatusOr<std::string> ReasonOf(const v1::RebootResource& spec, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::string why,
                   spec.image().empty() ? WhyReboot(files) : WhyImage(spec.image(), files));
  if (why.empty() && spec.when() != v1::REBOOT_WHEN_ALWAYS) return std::string();
  if (spec.reason().empty()) return why.empty() ? "the playbook asks for it" : why;
  return why.empty() ? spec.reason() : absl::StrCat(spec.reason(), ": ", why);
}

class Reboot final : public Resource {
 public:
  Reboot(v1::RebootResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {}

  std::string Id() const override { return "reboot"; }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const std::string why, ReasonOf(spec_, context_.files));
    if (why.empty()) return std::vector<Change>{};
    return std::vector<Change>{{"reboot", "", why}};
  }

  absl::Status Apply(ApplyObserver& observer) override { return context_.units.StartReboot(); }

  bool AlwaysChanges() const override { return spec_.when() == v1::REBOOT_WHEN_ALWAYS; }

 private:
  const v1::RebootResource spec_;
  ResourceContext& context_;
};

class PendingReboot final : public Resource, public RebootFinding {
 public:
  PendingReboot(v1::RebootResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {}

  std::string Id() const override { return "pending_reboot"; }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(why_, ReasonOf(spec_, context_.files));
    return std::vector<Change>{};
  }

  absl::Status Apply(ApplyObserver& observer) override { return absl::OkStatus(); }

  const std::string& why_reboot() const override { return why_; }

 private:
  const v1::RebootResource spec_;
  ResourceContext& context_;
  std::string why_;
};

class LastReboot final : public Resource {
 public:
  LastReboot(std::string boot_id, ResourceContext& context)
      : boot_id_(std::move(boot_id)), context_(context) {}

  std::string Id() const override { return "reboot"; }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const std::string boot_id, sys::ReadBootId(context_.files));
    if (boot_id != boot_id_) return std::vector<Change>{};
    return std::vector<Change>{{"reboot", "", "the update reboots every node"}};
  }

  absl::Status Apply(ApplyObserver& observer) override { return context_.units.StartReboot(); }

 private:
  const std::string boot_id_;
  ResourceContext& context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeReboot(const v1::Step& step, ResourceContext& context,
                                                     bool want_diff) {
  RETURN_IF_ERROR(CheckOneLine("reason", step.reboot().reason()));
  RETURN_IF_ERROR(CheckOneLine("image", step.reboot().image()));
  return std::make_unique<Reboot>(step.reboot(), context);
}

absl::StatusOr<std::unique_ptr<Resource>> MakePendingReboot(const v1::Step& step,
                                                            ResourceContext& context,
                                                            bool want_diff) {
  RETURN_IF_ERROR(CheckOneLine("reason", step.pending_reboot().reason()));
  RETURN_IF_ERROR(CheckOneLine("image", step.pending_reboot().image()));
  return std::make_unique<PendingReboot>(step.pending_reboot(), context);
}

absl::StatusOr<std::unique_ptr<Resource>> MakeLastReboot(const v1::Step& step,
                                                         ResourceContext& context, bool want_diff) {
  if (step.last_reboot().boot_id().empty())
    return absl::InvalidArgumentError("last_reboot: boot_id: specify the boot that is to end");
  return std::make_unique<LastReboot>(step.last_reboot().boot_id(), context);
}

}  // namespace muster::agent
