// All of the controller's modules, wired.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/config.h"

namespace muster {
class Clock;
}

namespace muster::controller {

// One running controller: the main listener, the enrollment listener and the package server over
// one store. musterd has one; a test may run several, on port 0. Thread-safe.
class Controller {
 public:
  // Opens everything and starts listening. The error names what could not be opened, and the
  // remedy. `clock` must outlive the object.
  static absl::StatusOr<std::unique_ptr<Controller>> Start(const Config& config, Clock& clock);
  // Whether it still waits for what an exchange of musterd decides: it has opened everything and
  // listens, but welcomes agents alone, and does no work.
  bool IsOnProbation() const;
  // Begins to work and to take calls if an exchange has decided for this version.
  absl::Status LeaveProbation();
  // Calls Shutdown() if that has not been done.
  ~Controller();

  // Lets calls end within kShutdownGrace, cancels the rest, and writes what is still unwritten.
  void Shutdown();
  // Blocks until the store has answered, for the watchdog. An error is an answer, which a restart
  // would not mend: it is logged.
  void CheckAlive();

  // The ports that the listeners were given.
  int port() const;
  int enrollment_port() const;
  int package_port() const;
  int metrics_port() const;  // 0: off
  int web_port() const;      // 0: off
  int boot_port() const;     // 0: off

 private:
  struct Modules;
  explicit Controller(std::unique_ptr<Modules> modules);
  std::unique_ptr<Modules> modules_;
};

}  // namespace muster::controller
