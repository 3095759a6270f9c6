#include "agent/resources/makers.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "agent/resources/check_values.h"
#include "common/base/status.h"
#include "common/sys/boot_id.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kUnitRecord[] = "unit";

bool IsActive(const UnitStatus& status) {
  return status.active_state == "active" || status.active_state == "reloading";
}

bool IsStopped(const UnitStatus& status) {
  return status.active_state == "inactive" || status.active_state == "failed";
}

constexpr absl::string_view kIndirect = "indirect";
// Made at every boot, from an init script for instance.
constexpr absl::string_view kGenerated = "generated";
constexpr absl::Duration kSystemctlTimeout = absl::Minutes(1);

// Whether it starts at each boot: also units that are started by other means than their own link.
bool IsEnabled(const UnitStatus& status) {
  for (const char* state : {"enabled", "alias", "generated"})
    if (status.unit_file_state == state) return true;
  return false;
}

// Whether there may be a link that disabling it takes away.
bool CanBeDisabled(const UnitStatus& status) {
  for (const char* state : {"enabled", "enabled-runtime", "alias", "indirect"})
    if (status.unit_file_state == state) return true;
  return false;
}

bool IsMasked(const UnitStatus& status) {
  return status.load_state == "masked" || absl::StartsWith(status.unit_file_state, "masked");
}

class Unit final : public Resource, public UnitRestart {
 public:
  Unit(v1::UnitResource spec, ResourceContext& context)
      : spec_(std::move(spec)), context_(context) {}

  std::string Id() const override { return absl::StrCat("unit[", spec_.name(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const UnitStatus status, ReadStatus());
    RETURN_IF_ERROR(CheckLoaded(status));
    ASSIGN_OR_RETURN(const bool started, IsStarted(status));
    return Compare(status, started);
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(UnitStatus status, ReadStatus());
    // Before anything is started: systemd would start the program of the old file.
    if (status.need_daemon_reload || status.load_state == "not-found") {
      RETURN_IF_ERROR(context_.units.DaemonReload());
      ASSIGN_OR_RETURN(status, ReadStatus());
    }
    RETURN_IF_ERROR(CheckLoaded(status));
    if (spec_.has_masked() && !spec_.masked() && IsMasked(status)) {
      RETURN_IF_ERROR(context_.units.SetMasked(spec_.name(), false));
      ASSIGN_OR_RETURN(status, ReadStatus());
    }
    if (WantsOtherLinks(status)) RETURN_IF_ERROR(ApplyEnabled(status));
    RETURN_IF_ERROR(ApplyState(status, observer));
    // Last: a masked unit could no longer be stopped by its own ExecStop.
    if (spec_.has_masked() && spec_.masked() && !IsMasked(status))
      return context_.units.SetMasked(spec_.name(), true);
    return absl::OkStatus();
  }

  bool AlwaysChanges() const override {
    return spec_.state() == v1::UNIT_STATE_RESTARTED || spec_.state() == v1::UNIT_STATE_RELOADED;
  }

  absl::StatusOr<bool> NextStartReadsAll() override {
    ASSIGN_OR_RETURN(UnitStatus status, context_.units.GetStatus(spec_.name()));
    if (IsStopped(status) && status.need_daemon_reload) {
      RETURN_IF_ERROR(context_.units.DaemonReload());
      // Something may have started it in between.
      ASSIGN_OR_RETURN(status, context_.units.GetStatus(spec_.name()));
    }
    return IsStopped(status);
  }

  absl::StatusOr<bool> Runs() override {
    ASSIGN_OR_RETURN(const UnitStatus status, context_.units.GetStatus(spec_.name()));
    return IsActive(status) && !status.need_daemon_reload;
  }

 private:
  // systemd calls the unit of an init script "generated" whether it starts at boot or not;
  // systemctl reads that from the links of the script.
  absl::StatusOr<UnitStatus> ReadStatus() {
    ASSIGN_OR_RETURN(UnitStatus status, context_.units.GetStatus(spec_.name()));
    has_init_script_ = false;
    if (!spec_.has_enabled() || status.unit_file_state != kGenerated) return status;
    const absl::StatusOr<sys::ProcessResult> result = context_.processes.Run(
        {.argv = {"systemctl", "is-enabled", "--", spec_.name()}, .timeout = kSystemctlTimeout});
    if (absl::IsNotFound(result.status())) return status;
    RETURN_IF_ERROR(result.status());
    const absl::string_view state = absl::StripAsciiWhitespace(result->out);
    has_init_script_ = state == "enabled" || state == "disabled";
    if (has_init_script_) status.unit_file_state = std::string(state);
    return status;
  }

  // systemctl changes the links of an init script, systemd itself does not.
  absl::Status SetEnabled() {
    if (!has_init_script_) return context_.units.SetEnabled(spec_.name(), spec_.enabled());
    return sys::RunChecked(
               context_.processes,
               {.argv = {"systemctl", spec_.enabled() ? "enable" : "disable", "--", spec_.name()},
                .timeout = kSystemctlTimeout})
        .status();
  }

  // A unit that has to be stopped, disabled or masked need not exist.
  bool NeedsUnit() const {
    return spec_.state() == v1::UNIT_STATE_STARTED || AlwaysChanges() ||
           (spec_.has_enabled() && spec_.enabled());
  }

  absl::Status CheckLoaded(const UnitStatus& status) const {
    if (status.load_state == "not-found" && NeedsUnit())
      return absl::FailedPreconditionError(absl::StrCat(
          "unit '", spec_.name(),
          "' does not exist on the node; is its package installed and its name right?"));
    if ((status.load_state == "bad-setting" || status.load_state == "error") && NeedsUnit())
      return absl::InvalidArgumentError(
          absl::StrCat("systemd cannot read the file of '", spec_.name(), "' (", status.load_state,
                       "); `systemd-analyze verify ", spec_.name(), "` on the node shows why"));
    if (IsMasked(status) && NeedsUnit() && !spec_.has_masked())
      return absl::FailedPreconditionError(
          absl::StrCat("unit '", spec_.name(),
                       "' is masked on the node; if it should run anyway, write masked: false"));
    if (status.unit_file_state == "static" && spec_.has_enabled() && spec_.enabled())
      return absl::FailedPreconditionError(absl::StrCat(
          "unit '", spec_.name(),
          "' cannot be enabled: its file has no [Install] section; leave `enabled` out"));
    return absl::OkStatus();
  }

  // A unit that ends by itself counts as started when it has run successfully since the node
  // booted. systemd forgets this for unreferenced units; a record does not.
  absl::StatusOr<bool> IsStarted(const UnitStatus& status) {
    if (IsActive(status)) return true;
    if (!status.ends_by_itself || status.active_state != "inactive") return false;
    if (status.ended_well) return true;
    ASSIGN_OR_RETURN(const auto ran_in, context_.records.Get(kUnitRecord, spec_.name()));
    if (!ran_in.has_value()) return false;
    ASSIGN_OR_RETURN(const std::string boot, sys::ReadBootId(context_.files));
    return absl::StripAsciiWhitespace(*ran_in) == boot;  // older records end with a newline
  }

  // After a start that systemd reported as done.
  absl::Status SettleStart() {
    ASSIGN_OR_RETURN(const UnitStatus status, context_.units.GetStatus(spec_.name()));
    if (IsActive(status)) return absl::OkStatus();
    if (!status.conditions_held)
      return absl::FailedPreconditionError(absl::StrCat(
          "systemd did not start '", spec_.name(),
          "': one of its Condition… lines does not hold on the node; `systemctl status ",
          spec_.name(), "` there names it"));
    if (!status.ends_by_itself) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string boot, sys::ReadBootId(context_.files));
    return context_.records.Put(kUnitRecord, spec_.name(), boot);
  }

  std::vector<Change> Compare(const UnitStatus& status, bool started) const {
    std::vector<Change> changes;
    if (spec_.has_masked() && spec_.masked() != IsMasked(status))
      changes.push_back({"masked", spec_.masked() ? "no" : "yes", spec_.masked() ? "yes" : "no"});
    const bool exists = status.load_state != "not-found";
    if (exists && WantsOtherLinks(status))
      changes.push_back({"enabled", status.unit_file_state.empty() ? "no" : status.unit_file_state,
                         spec_.enabled() ? "enabled" : "disabled"});
    if (spec_.state() == v1::UNIT_STATE_STARTED && !started)
      changes.push_back({"state", status.active_state, "started"});
    if (spec_.state() == v1::UNIT_STATE_STOPPED && exists && !IsStopped(status))
      changes.push_back({"state", status.active_state, "stopped"});
    if (spec_.state() == v1::UNIT_STATE_RESTARTED)
      changes.push_back({"state", status.active_state, "restarted"});
    if (spec_.state() == v1::UNIT_STATE_RELOADED)
      changes.push_back({"state", status.active_state, "reloaded"});
    return changes;
  }

  bool WantsOtherLinks(const UnitStatus& status) const {
    if (!spec_.has_enabled()) return false;
    return spec_.enabled() ? !IsEnabled(status) : CanBeDisabled(status);
  }

  absl::Status ApplyEnabled(const UnitStatus& before) {
    RETURN_IF_ERROR(SetEnabled());
    if (before.unit_file_state != kIndirect) return absl::OkStatus();
    // A unit with another's link takes both; one without links of its own stays as it is.
    ASSIGN_OR_RETURN(const UnitStatus now, context_.units.GetStatus(spec_.name()));
    if (now.unit_file_state != kIndirect) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "unit '", spec_.name(), "' cannot be ", spec_.enabled() ? "enabled" : "disabled",
        ": the [Install] section of its file only names others (Also=); write enabled: ",
        spec_.enabled() ? "true" : "false", " for those, which `systemctl cat ", spec_.name(),
        "` shows, and leave it out here"));
  }

  absl::Status ApplyState(const UnitStatus& status, ApplyObserver& observer) {
    ASSIGN_OR_RETURN(const bool started, IsStarted(status));
    const struct {
      v1::UnitState state;
      bool needed;
      UnitJob job;
      const char* activity;
    } kRows[] = {
        {v1::UNIT_STATE_STARTED, !started, UnitJob::kStart, "starting "},
        {v1::UNIT_STATE_STOPPED, status.load_state != "not-found" && !IsStopped(status),
         UnitJob::kStop, "stopping "},
        {v1::UNIT_STATE_RESTARTED, true, UnitJob::kRestart, "restarting "},
        {v1::UNIT_STATE_RELOADED, true, UnitJob::kReloadOrRestart, "reloading "},
    };
    for (const auto& row : kRows) {
      if (row.state != spec_.state() || !row.needed) continue;
      observer.OnActivity(absl::StrCat(row.activity, spec_.name()), std::nullopt);
      RETURN_IF_ERROR(context_.units.Run(row.job, spec_.name()));
      return row.job == UnitJob::kStart ? SettleStart() : absl::OkStatus();
    }
    return absl::OkStatus();
  }

  const v1::UnitResource spec_;
  ResourceContext& context_;
  bool has_init_script_ = false;  // as ReadStatus() has found
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeUnit(const v1::Step& step, ResourceContext& context,
                                                   bool want_diff) {
  const v1::UnitResource& spec = step.unit();
  RETURN_IF_ERROR(CheckName("name", spec.name()));
  if (!absl::StrContains(spec.name(), '.'))
    return absl::InvalidArgumentError(
        absl::StrCat("name: '", spec.name(), "' has no suffix; write '", spec.name(), ".service'"));
  if (absl::StrContains(spec.name(), "@."))
    return absl::InvalidArgumentError(
        absl::StrCat("name: '", spec.name(), "' is a template; specify an instance of it, '",
                     absl::StrReplaceAll(spec.name(), {{"@.", "@NAME."}}), "'"));
  if (spec.has_masked() && spec.masked() &&
      (spec.state() == v1::UNIT_STATE_STARTED || (spec.has_enabled() && spec.enabled())))
    return absl::InvalidArgumentError("a masked unit can be neither started nor enabled");
  v1::UnitResource wanted = spec;
  if (!context.is_running) wanted.clear_state();
  return std::make_unique<Unit>(std::move(wanted), context);
}

}  // namespace muster::agent
