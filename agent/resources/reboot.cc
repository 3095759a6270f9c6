#include "agent/resources/makers.h"

#include <string.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/resources/check_values.h"
#include "common/base/status.h"
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
  ASSIGN_OR_RETURN(const auto required, files.Stat(kRequired));
  if (required.has_value()) return absl::StrCat(kRequired, RequiredBy(files));
  ASSIGN_OR_RETURN(const std::string newest, NewestKernel(files));
  if (newest.empty()) return std::string();
  ASSIGN_OR_RETURN(std::string running, files.Read(kRunningKernel));
  absl::StripAsciiWhitespace(&running);
  if (::strverscmp(VersionOf(newest).c_str(), VersionOf(running).c_str()) <= 0)
    return std::string();
  return absl::StrCat("kernel ", newest, " is installed but ", running, " is running");
}

class Reboot final : public Resource {
 public:
  Reboot(v1::RebootResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {}

  std::string Id() const override { return "reboot"; }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const std::string why, WhyReboot(context_.files));
    if (why.empty() && !AlwaysChanges()) return std::vector<Change>{};
    return std::vector<Change>{{"reboot", "", Reason(why)}};
  }

  absl::Status Apply(ApplyObserver& observer) override { return context_.units.StartReboot(); }

  bool AlwaysChanges() const override { return spec_.when() == v1::REBOOT_WHEN_ALWAYS; }

 private:
  std::string Reason(const std::string& why) const {
    if (!spec_.reason().empty() && !why.empty()) return absl::StrCat(spec_.reason(), ": ", why);
    if (!spec_.reason().empty()) return spec_.reason();
    return why.empty() ? "the playbook asks for it" : why;
  }

  const v1::RebootResource spec_;
  ResourceContext& context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeReboot(const v1::Step& step, ResourceContext& context,
                                                     bool want_diff) {
  RETURN_IF_ERROR(CheckOneLine("reason", step.reboot().reason()));
  return std::make_unique<Reboot>(step.reboot(), context);
}

}  // namespace muster::agent
