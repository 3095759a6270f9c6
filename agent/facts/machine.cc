// The machine itself: maker, model, serial number, firmware.
#include "agent/facts/probe.h"
#include "agent/facts/sysfs.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {

absl::Status ProbeMachine(const ProbeContext& context, v1::Facts& facts) {
  const std::string id = context.root + "/sys/class/dmi/id/";
  const auto value = [&id](const char* name) { return ReadValue(id + name).value_or(""); };
  v1::MachineFacts& machine = *facts.mutable_machine();
  machine.set_vendor(value("sys_vendor"));
  machine.set_product(value("product_name"));
  machine.set_serial(value("product_serial"));
  machine.set_bios_version(value("bios_version"));
  machine.set_bios_date(value("bios_date"));
  // The first processor's: the kernel gives all of them the same revision, or complains.
  machine.set_microcode(
      ReadValue(context.root + "/sys/devices/system/cpu/cpu0/microcode/version").value_or(""));
  return absl::OkStatus();
}

}  // namespace muster::agent
