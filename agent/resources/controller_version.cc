#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/resources/check_values.h"
#include "agent/resources/makers.h"
#include "agent/upgrade/upgrade.h"
#include "common/base/status.h"
#include "common/sys/process/process.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kControllerLook = absl::Milliseconds(200);
// apt may wait for its lock, the store may be large, and both musterds may take their time.
constexpr absl::Duration kControllerPatience = absl::Minutes(30);
constexpr char kMusterd[] = "/usr/bin/musterd";
constexpr char kControllerPackage[] = "muster-controller";
constexpr char kCliPackage[] = "muster-cli";

class ControllerVersion final : public Resource {
 public:
  ControllerVersion(v1::ControllerResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context), place_(context.controller_upgrade) {}

  std::string Id() const override { return "controller"; }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const std::string running, Ask("--version", "musterd "));
    ASSIGN_OR_RETURN(const std::string ordered, ReadNote(place_.Order(), context_.files));
    // In the middle of an exchange the program is already the new one.
    if (running == spec_.version() && ordered.empty()) return std::vector<Change>{};
    return std::vector<Change>{{"version", running, spec_.version()}};
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::string ordered, ReadNote(place_.Order(), context_.files));
    if (ordered.empty()) {
      if (!observer.IsContinued()) RETURN_IF_ERROR(ForgetFailure(place_, context_.files));
      RETURN_IF_ERROR(Failure());
      RETURN_IF_ERROR(Order());
    } else if (ordered != spec_.version()) {
      return absl::FailedPreconditionError(absl::StrCat("musterd is being exchanged for ", ordered,
                                                        "; see `journalctl -u ", place_.unit,
                                                        "` on the node"));
    }
    observer.OnActivity(absl::StrCat("musterd is exchanged for ", spec_.version()), std::nullopt);
    RETURN_IF_ERROR(context_.units.Run(UnitJob::kStart, place_.unit));
    return Await(observer);
  }

 private:
  // What musterd prints for `argument`, on one line, without `prefix`.
  absl::StatusOr<std::string> Ask(const std::string& argument, absl::string_view prefix) {
    const absl::StatusOr<sys::ProcessResult> result = sys::RunChecked(
        context_.processes, {.argv = {kMusterd, argument}, .timeout = absl::Minutes(1)});
    if (absl::IsNotFound(result.status()))
      return absl::FailedPreconditionError(
          "no musterd is installed here: name the node where it runs");
    RETURN_IF_ERROR(result.status());
    absl::string_view line = absl::StripAsciiWhitespace(result->out);
    if (!absl::ConsumePrefix(&line, prefix) || line.empty() || absl::StrContains(line, '\n'))
      return absl::InternalError(absl::StrCat(kMusterd, " ", argument, " answered '", line, "'"));
    return std::string(line);
  }

  absl::StatusOr<std::string> Field(const std::string& package, const char* field) {
    ASSIGN_OR_RETURN(
        const sys::ProcessResult result,
        sys::RunChecked(context_.processes, {.argv = {"dpkg-deb", "--field", package, field},
                                             .timeout = absl::Minutes(1)}));
    return std::string(absl::StripAsciiWhitespace(result.out));
  }

  absl::StatusOr<bool> IsInstalled(const std::string& name) {
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     context_.processes.Run({.argv = {"dpkg-query", "--show",
                                                      "--showformat=${db:Status-Status}", name},
                                             .timeout = absl::Minutes(1)}));
    return result.ok() && absl::StripAsciiWhitespace(result.out) == "installed";
  }

  absl::Status CheckNotOlder(const std::string& running) {
    if (spec_.allow_downgrade()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const sys::ProcessResult result,
                     context_.processes.Run(
                         {.argv = {"dpkg", "--compare-versions", spec_.version(), "lt", running},
                          .timeout = absl::Minutes(1)}));
    // It exits with 0 when the comparison holds.
    if (result.exit_code == 1 && result.signal == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        spec_.version(), " is older than ", running,
        ", which runs; an older musterd refuses a newer store. --allow-downgrade tries it"));
  }

  // Everything is checked before anything is kept.
  absl::Status Order() {
    UpgradeOrder order{.version = spec_.version()};
    ASSIGN_OR_RETURN(order.before, Ask("--version", "musterd "));
    RETURN_IF_ERROR(CheckNotOlder(order.before));
    ASSIGN_OR_RETURN(order.state_folder, Ask("--state-directory", ""));
    for (const std::string& package : spec_.packages()) {
      ASSIGN_OR_RETURN(const std::string name, Field(package, "Package"));
      if (name != kControllerPackage && name != kCliPackage)
        return absl::InvalidArgumentError(
            absl::StrCat(package, " is of ", name, ", not of ", kControllerPackage));
      ASSIGN_OR_RETURN(const std::string version, Field(package, "Version"));
      if (version != spec_.version())
        return absl::InvalidArgumentError(
            absl::StrCat(package, " has version ", version, ", not ", spec_.version()));
      ASSIGN_OR_RETURN(const bool is_installed, IsInstalled(name));
      if (!is_installed) continue;
      order.packages.push_back(package);
      order.names.push_back(name);
    }
    if (std::count(order.names.begin(), order.names.end(), kControllerPackage) != 1)
      return absl::FailedPreconditionError(absl::StrCat("musterd is not here by one package of ",
                                                        kControllerPackage,
                                                        ": exchange it as it was installed"));
    RETURN_IF_ERROR(OrderUpgrade(place_, order, context_.files, context_.processes));
    for (const std::string& package : spec_.packages())
      RETURN_IF_ERROR(context_.files.Remove(package, /*recursive=*/false));
    return absl::OkStatus();
  }

  absl::Status Await(ApplyObserver& observer) {
    const absl::Time patience = context_.clock.Now() + kControllerPatience;
    while (context_.clock.Now() < patience) {
      // The next life of the agent looks at what has come of it.
      if (observer.IsStopping()) return absl::CancelledError("musterd is exchanged");
      ASSIGN_OR_RETURN(const std::string ordered, ReadNote(place_.Order(), context_.files));
      if (ordered.empty()) return Failure();
      context_.clock.Sleep(kControllerLook);
    }
    return absl::DeadlineExceededError(
        absl::StrCat("musterd was not exchanged within ", absl::FormatDuration(kControllerPatience),
                     "; see `journalctl -u ", place_.unit, "` on the node"));
  }

  absl::Status Failure() {
    ASSIGN_OR_RETURN(const std::string why, TakeFailure(place_, context_.files));
    if (why.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("musterd ", spec_.version(), " did not come up, the one of before is back ",
                     "with its store: ", why));
  }

  const v1::ControllerResource spec_;
  ResourceContext& context_;
  const UpgradePlace& place_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeControllerVersion(const v1::Step& step,
                                                                ResourceContext& context,
                                                                bool want_diff) {
  const v1::ControllerResource& spec = step.controller();
  RETURN_IF_ERROR(CheckOneLine("version", spec.version()));
  if (spec.version().empty()) return absl::InvalidArgumentError("version: is empty");
  if (spec.packages().empty()) return absl::InvalidArgumentError("packages: is empty");
  for (const std::string& path : spec.packages()) RETURN_IF_ERROR(CheckPath("packages", path));
  return std::make_unique<ControllerVersion>(spec, context);
}

}  // namespace muster::agent
