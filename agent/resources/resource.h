// One piece of desired node state: a file, a package, a unit.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::v1 {
class Step;
}

namespace muster::agent {

// One difference between the node and the desired state.
struct Change {
  std::string field;  // "content", "mode", "package munge"
  std::string before;
  std::string after;
  std::string diff;  // unified diff of a text; empty if there is none
  bool operator==(const Change&) const = default;
};

// Receives the activity of a resource while it applies. Called from the applying thread.
class ApplyObserver {
 public:
  virtual ~ApplyObserver() = default;
  // "unpacking slurmd"; percent from 0 to 100 when known.
  virtual void OnActivity(absl::string_view activity, std::optional<float> percent) = 0;
  // Output of a program, for the step's record; the observer bounds it.
  virtual void OnOutput(absl::string_view text) = 0;
  // The agent is about to stop: a long wait may end with Cancelled, and is continued in the agent's
  // next life.
  virtual bool IsStopping() const { return false; }
  // An earlier life of the agent has begun to apply the step.
  virtual bool IsContinued() const { return false; }
};

// In check mode the engine does not call Apply(). Used by one thread at a time.
class Resource {
 public:
  virtual ~Resource() = default;
  // Identity in logs and errors: "file[/etc/munge/munge.key]".
  virtual std::string Id() const = 0;
  // Compares the node with the desired state. Read-only; empty means in sync. FailedPrecondition
  // means that something is missing which an earlier step may create (an owner, a unit): in check
  // mode the engine then reports "will change" if an earlier step would change.
  virtual absl::StatusOr<std::vector<Change>> Check() = 0;
  // Called after a Check() that found something, only in check mode, because it may take seconds:
  // returns errors that would prevent Apply(), in the form of Check()'s, and adds to `found`
  // details that only a reader wants to know, such as further packages that would be installed.
  virtual absl::Status Foresee(std::vector<Change>& found) { return absl::OkStatus(); }
  // Makes the changes that Check() found. Safe to call twice, also after a crash half-way.
  virtual absl::Status Apply(ApplyObserver& observer) = 0;
  // True for handlers' verbs (restart, an always-command) that remain "changed" after Apply(): the
  // engine does not check them again.
  virtual bool AlwaysChanges() const { return false; }
  // Combines two neighbors (packages: into one transaction): takes over the findings of `next`'s
  // Check() and returns true; then next.Apply() is not called. Called between Check() and Apply().
  virtual bool Absorb(Resource& next) { return false; }
};

// An aspect of resources whose Check() may run programs.
class PrintingCheck {
 public:
  virtual ~PrintingCheck() = default;
  // The output of the programs of the last Check(), bounded; "": there was none.
  virtual const std::string& check_output() const = 0;
};

// An aspect of resources that restart or reload a unit.
class UnitRestart {
 public:
  virtual ~UnitRestart() = default;
  // Whether the unit does not run, so that its next start reads all files as they are now; lets
  // systemd read those of the unit.
  virtual absl::StatusOr<bool> NextStartReadsAll() = 0;
  virtual absl::StatusOr<bool> Runs() = 0;
};

// An aspect of resources that find out whether the node has to reboot, and do nothing about it.
class RebootFinding {
 public:
  virtual ~RebootFinding() = default;
  // Why, as of the last Check(); "": nothing asks for it.
  virtual const std::string& why_reboot() const = 0;
};

}  // namespace muster::agent
