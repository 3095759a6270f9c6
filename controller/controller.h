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

namespace muster::sys {
class FileSystem;
}

namespace muster::controller {

// One running controller: the main listener, the enrolment listener and the package server over
// one store. In a program it is musterd; a test may run several on port 0. Thread-safe.
class Controller {
 public:
  // Opens everything and begins to listen. The error names what could not be had, and the remedy.
  // `clock` must outlive the object.
  static absl::StatusOr<std::unique_ptr<Controller>> Start(const Config& config, Clock& clock);
  // Shuts down, too, if need be.
  ~Controller();

  // Lets calls end within kShutdownGrace, cancels the rest, and writes what is to be written.
  void Shutdown();
  // Whether the store answers. Blocks as long as it does not: for the watchdog.
  absl::Status CheckAlive();

  // The ports that were taken.
  int port() const;
  int enrollment_port() const;
  int package_port() const;

 private:
  struct Modules;
  struct Resources;

  static absl::StatusOr<Resources> Open(const Config& config, Clock& clock, sys::FileSystem& files);
  explicit Controller(std::unique_ptr<Modules> modules);
  std::unique_ptr<Modules> modules_;
};

}  // namespace muster::controller
