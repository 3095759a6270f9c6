#include "controller/power/power_steps.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/human_duration.h"

namespace muster::controller::power {
namespace {

struct VerbRow {
  PowerVerb verb;
  absl::string_view name;
  bool is_disruptive;
  bool boots;
};
constexpr VerbRow kVerbs[] = {
    {PowerVerb::kStatus, "status", false, false},
    {PowerVerb::kOn, "on", false, true},
    {PowerVerb::kOff, "off", true, false},
    {PowerVerb::kCycle, "cycle", true, true},
    {PowerVerb::kReset, "reset", true, true},
    {PowerVerb::kIdentify, "identify", false, false},
    {PowerVerb::kEndIdentify, "identify --off", false, false},
};

const VerbRow& RowOf(PowerVerb verb) {
  return *std::find_if(std::begin(kVerbs), std::end(kVerbs),
                       [&](const VerbRow& row) { return row.verb == verb; });
}

// The steps of one order, and what was seen on the way.
class Steps {
 public:
  Steps(Bmc& bmc, const PowerOrder& order, const PowerPatience& patience,
        const PowerSurroundings& around)
      : bmc_(bmc), order_(order), patience_(patience), around_(around) {}

  absl::Status Run() {
    switch (order_.verb) {
      case PowerVerb::kStatus:
        return Look();
      case PowerVerb::kOn:
        return On();
      case PowerVerb::kOff:
        return Off();
      case PowerVerb::kCycle:
        return Cycle();
      case PowerVerb::kReset:
        return Reset();
      case PowerVerb::kIdentify:
      case PowerVerb::kEndIdentify:
        return Identify();
    }
    return absl::InvalidArgumentError("unknown verb");
  }

  PowerOutcome Outcome(absl::Status status) && { return {std::move(status), state_, note_}; }

 private:
  absl::Status Look() {
    ASSIGN_OR_RETURN(state_, bmc_.State());
    return absl::OkStatus();
  }

  absl::Status On() {
    RETURN_IF_ERROR(Look());
    if (state_ == PowerState::kOn) {
      note_ = order_.boot == BootDevice::kDefault
                  ? "it was on already"
                  : "it was on already; the boot device was not set: use cycle or reset";
      return absl::OkStatus();
    }
    return SwitchOn(/*in_cycle=*/false);
  }

  absl::Status SwitchOn(bool in_cycle) {
    RETURN_IF_ERROR(around_.await_turn(in_cycle));
    // Not before the turn: a BMC forgets the boot device a minute after it was set.
    absl::Status on = SetBoot();
    if (in_cycle && !on.ok()) {
      // The BMC took it before the machine went off, which is to come on again.
      note_ = "the boot device was set before it went off, and perhaps forgotten since";
      on = absl::OkStatus();
    }
    if (on.ok()) on = Ask(PowerChange::kOn, "asked to switch on");
    if (in_cycle && !on.ok()) on = AskAgainForOn();
    if (on.ok()) on = AwaitState(PowerState::kOn, patience_.change);
    if (!on.ok() && state_ == PowerState::kOff) around_.on_off();
    return on;
  }

  // Until the BMC takes the order. It may be busy with the machine's end, and may have taken an
  // order although its answer was lost.
  absl::Status AskAgainForOn() {
    absl::Time end = around_.clock.Now() + patience_.change;
    while (true) {
      around_.clock.Sleep(patience_.look);
      absl::Status on = Look();
      if (on.ok() && state_ != PowerState::kOn) on = Ask(PowerChange::kOn, "asked to switch on");
      const absl::Time now = around_.clock.Now();
      if (around_.is_hurried()) end = std::min(end, now + patience_.hurried);
      if (on.ok() || now >= end) return on;
    }
  }

  absl::Status Off() {
    RETURN_IF_ERROR(Look());
    if (state_ == PowerState::kOff) {
      note_ = "it was off already";
      return absl::OkStatus();
    }
    return SwitchOff();
  }

  absl::Status SwitchOff() {
    waits_softly_ = order_.is_soft;
    if (order_.is_soft) {
      RETURN_IF_ERROR(Ask(PowerChange::kSoftOff, "its operating system was asked to shut down"));
    } else {
      RETURN_IF_ERROR(Ask(PowerChange::kOff, "asked to switch off"));
    }
    const absl::Duration soft = is_in_cycle_ ? patience_.soft_cycle : patience_.soft;
    absl::Status off = AwaitState(PowerState::kOff, order_.is_soft ? soft : patience_.change);
    if (absl::IsFailedPrecondition(off) && is_in_cycle_ && !order_.is_soft &&
        !around_.is_hurried()) {
      // What goes off after this stays off.
      off = AwaitState(PowerState::kOff, patience_.late_cycle, patience_.change);
    }
    RETURN_IF_ERROR(off);
    around_.on_off();
    return absl::OkStatus();
  }

  absl::Status Cycle() {
    RETURN_IF_ERROR(Look());
    if (state_ == PowerState::kOff) {
      note_ = "it was off before";
      return SwitchOn(/*in_cycle=*/false);
    }
    RETURN_IF_ERROR(SetBoot());  // first: what has been switched off is to come on again
    is_in_cycle_ = true;
    absl::Status off = SwitchOff();
    if (around_.is_hurried() && order_.is_soft && state_ != PowerState::kOff) {
      // Nobody will be here to switch on what ends later.
      waits_softly_ = false;
      RETURN_IF_ERROR(Ask(PowerChange::kOff, "asked to switch off"));
      off = AwaitState(PowerState::kOff, patience_.change);
    }
    // Where it is not known whether it went off, it is to be on all the same.
    if (!off.ok() && !absl::IsUnavailable(off)) return off;
    if (!around_.is_hurried()) around_.clock.Sleep(patience_.off);
    const absl::Status on = SwitchOn(/*in_cycle=*/true);
    if (!off.ok()) return on.ok() ? Annotate(off, "it is on, but was perhaps never off") : off;
    return Annotate(on, "it was switched off and is not on again");
  }

  absl::Status Reset() {
    RETURN_IF_ERROR(Look());
    if (state_ == PowerState::kOff)
      return absl::FailedPreconditionError(
          "it is off, so it cannot be reset; use `muster power on`");
    RETURN_IF_ERROR(SetBoot());
    RETURN_IF_ERROR(Ask(PowerChange::kReset, "asked to reset"));
    return AwaitState(PowerState::kOn, patience_.change);
  }

  absl::Status Identify() {
    const bool is_on = order_.verb == PowerVerb::kIdentify;
    RETURN_IF_ERROR(bmc_.Identify(is_on));
    note_ = is_on ? "its light is on" : "its light is off";
    return Look();
  }

  absl::Status SetBoot() {
    if (order_.boot == BootDevice::kDefault) return absl::OkStatus();
    return Annotate(bmc_.BootOnce(order_.boot),
                    "the boot device was not set, and nothing else done");
  }

  absl::Status Ask(PowerChange change, absl::string_view words) {
    RETURN_IF_ERROR(bmc_.Change(change));
    around_.on_asked(words);
    return absl::OkStatus();
  }

  // A BMC may be away for a moment while its machine changes. `waited` is how long it had already.
  absl::Status AwaitState(PowerState wanted, absl::Duration patience,
                          absl::Duration waited = absl::ZeroDuration()) {
    absl::Time end = around_.clock.Now() + patience;
    absl::Status last;
    while (true) {
      last = Look();
      if (last.ok() && state_ == wanted) return absl::OkStatus();
      // In a cycle the password was right a moment ago, and the machine is to come on again.
      if ((absl::IsUnauthenticated(last) && !is_in_cycle_) || absl::IsCancelled(last)) return last;
      const absl::Time now = around_.clock.Now();
      if (around_.is_hurried()) {
        const bool must_know = is_in_cycle_ && wanted == PowerState::kOff && !waits_softly_;
        end = std::min(end, must_know ? now + patience_.hurried : now);
      }
      if (now >= end) break;
      around_.clock.Sleep(patience_.look);
    }
    if (!last.ok())
      return absl::UnavailableError(
          absl::StrCat("its BMC took the order, and then: ", last.message()));
    const auto but_says = [&](absl::string_view state) {
      return absl::StrCat("its BMC took the order, but says after ",
                          HumanDuration(waited + patience), " that the machine is ", state,
                          "; look at the machine, and restart its BMC if that is not true");
    };
    if (state_ == PowerState::kUnknown)
      return absl::UnavailableError(but_says("neither on nor off"));
    if (waits_softly_ && wanted == PowerState::kOff)
      return absl::FailedPreconditionError(absl::StrCat(
          "its operating system was asked to shut down and has not within ",
          HumanDuration(patience), "; look at its console, or leave out --soft",
          is_in_cycle_ ? ". If it ends later, the machine stays off: use `muster power on`" : ""));
    return absl::FailedPreconditionError(but_says(PowerStateName(state_)));
  }

  Bmc& bmc_;
  const PowerOrder& order_;
  const PowerPatience& patience_;
  const PowerSurroundings& around_;
  PowerState state_ = PowerState::kUnknown;
  bool waits_softly_ = false;  // for an operating system
  bool is_in_cycle_ = false;   // and the first half of it has begun
  std::string note_;
};

}  // namespace

absl::string_view PowerVerbName(PowerVerb verb) { return RowOf(verb).name; }

bool IsDisruptive(PowerVerb verb) { return RowOf(verb).is_disruptive; }

bool BootsMachine(PowerVerb verb) { return RowOf(verb).boots; }

PowerOutcome CarryOut(Bmc& bmc, const PowerOrder& order, const PowerPatience& patience,
                      const PowerSurroundings& around) {
  Steps steps(bmc, order, patience, around);
  absl::Status status = steps.Run();
  return std::move(steps).Outcome(std::move(status));
}

}  // namespace muster::controller::power
