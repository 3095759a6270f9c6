#include "agent/service_notify.h"

#include <algorithm>

#include <systemd/sd-daemon.h>

namespace muster::agent {

void ServiceNotify::Ready() { sd_notify(0, "READY=1"); }
void ServiceNotify::Stopping() { sd_notify(0, "STOPPING=1"); }
void ServiceNotify::Alive() { sd_notify(0, "WATCHDOG=1"); }

void ServiceNotify::Status(const std::string& text) {
  if (text == status_) return;
  status_ = text;
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  sd_notify(0, ("STATUS=" + line).c_str());
}

}  // namespace muster::agent
