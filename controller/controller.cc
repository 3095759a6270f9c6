#include "controller/controller.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "controller/constants.h"
#include "controller/enrollment/authority_change.h"
#include "controller/log.h"
#include "controller/probation.h"
#include "controller/wiring/core.h"
#include "controller/wiring/front.h"
#include "controller/wiring/work.h"

namespace muster::controller {

// Ordered by reference: destroyed from the last to the first.
struct Controller::Modules {
  Modules(const Config& config, Resources resources, Clock& clock)
      : probation(config.state_directory),
        core(std::move(resources), clock),
        work(config, core),
        front(config, core, work) {}

  absl::Status StartWork() {
    RETURN_IF_ERROR(probation.NoteOutcome(*core.resources.store, core.clock.Now()));
    return work.Start();
  }

  const Probation probation;

  Core core;
  Work work;
  Front front;
  std::atomic<bool> is_on_probation = false;
  std::atomic<bool> is_shut_down = false;
};

Controller::Controller(std::unique_ptr<Modules> modules) : modules_(std::move(modules)) {}

absl::StatusOr<std::unique_ptr<Controller>> Controller::Start(const Config& config, Clock& clock) {
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(Resources resources, OpenResources(config, clock, files));
  auto modules = std::make_unique<Modules>(config, std::move(resources), clock);
  Core& core = modules->core;
  RETURN_IF_ERROR(core.denylist.Load(*core.resources.store));
  std::unique_ptr<Controller> controller(new Controller(std::move(modules)));
  RETURN_IF_ERROR(controller->modules_->front.ListenForPackages(config));
  RETURN_IF_ERROR(NoteAuthority(*core.resources.store, core.resources.ca, clock.Now()));
  if (controller->modules_->probation.IsOn()) {
    controller->modules_->is_on_probation.store(true);
    core.shares.Shut();
    core.registry.SetProbation(true);
  } else {
    RETURN_IF_ERROR(controller->modules_->StartWork());
  }
  core.Start();
  RETURN_IF_ERROR(controller->modules_->front.Listen(config, controller->modules_->work));
  return controller;
}

bool Controller::IsOnProbation() const { return modules_->is_on_probation.load(); }

absl::Status Controller::LeaveProbation() {
  if (!IsOnProbation() || modules_->probation.IsOn()) return absl::OkStatus();
  RETURN_IF_ERROR(modules_->StartWork());
  modules_->core.registry.SetProbation(false);
  modules_->core.shares.Open();
  modules_->is_on_probation.store(false);
  return absl::OkStatus();
}

Controller::~Controller() { Shutdown(); }

void Controller::Shutdown() {
  if (modules_->is_shut_down.exchange(true)) return;
  const absl::Time deadline = modules_->core.clock.Now() + kShutdownGrace;
  // Streams that would stay open for ever end first: then only calls that do something are waited
  // for.
  modules_->core.registry.Close();
  modules_->work.EndStreams();
  modules_->front.Shutdown(deadline);
  modules_->core.Stop();
  modules_->work.Stop();
}

void Controller::CheckAlive() {
  const auto nothing = [](Transaction&) { return absl::OkStatus(); };
  Store& store = *modules_->core.resources.store;
  // A writer that hangs in the disk holds this up, too; errors are reported to those who write.
  store.Update(nothing).IgnoreError();
  if (const absl::Status viewed = store.View(nothing); !viewed.ok())
    LogError(absl::StrCat("the store does not answer: ", viewed.message()));
}

int Controller::port() const { return modules_->front.port; }
int Controller::enrollment_port() const { return modules_->front.enrollment_port; }
int Controller::package_port() const { return modules_->front.packages->port(); }
int Controller::metrics_port() const {
  const auto& server = modules_->front.metrics_server;
  return server == nullptr ? 0 : server->port();
}
int Controller::boot_port() const {
  const auto& server = modules_->front.boot_server;
  return server == nullptr ? 0 : server->port();
}
int Controller::web_port() const {
  const auto& web = modules_->front.web;
  return web == nullptr ? 0 : web->server->port();
}

}  // namespace muster::controller
