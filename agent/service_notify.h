// Notifies systemd about this service (sd_notify); does nothing outside of one.
#pragma once

#include <string>

namespace muster::agent {

class ServiceNotify {
 public:
  void Ready();
  void Stopping();
  // The watchdog's ping.
  void Alive();
  // One line for `systemctl status`; sent only when it changes.
  void Status(const std::string& text);

 private:
  std::string status_;
};

}  // namespace muster::agent
