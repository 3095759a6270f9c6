// The machine itself: maker, model, firmware.
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "agent/facts/probe.h"
#include "agent/facts/sysfs.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

// Of the first processor: the kernel gives all of them the same revision, or complains.
std::string Microcode(const std::string& root) {
  const absl::StatusOr<std::string> text = ReadText(root + "/proc/cpuinfo");
  if (!text.ok()) return "";
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(field.first) == "microcode")
      return std::string(absl::StripAsciiWhitespace(field.second));
  }
  return "";
}

}  // namespace

absl::Status ProbeMachine(const ProbeContext& context, v1::Facts& facts) {
  const std::string id = context.root + "/sys/class/dmi/id/";
  const auto value = [&id](const char* name) { return ReadValue(id + name).value_or(""); };
  v1::MachineFacts& machine = *facts.mutable_machine();
  machine.set_vendor(value("sys_vendor"));
  machine.set_product(value("product_name"));
  machine.set_bios_version(value("bios_version"));
  machine.set_bios_date(value("bios_date"));
  machine.set_microcode(Microcode(context.root));
  return absl::OkStatus();
}

}  // namespace muster::agent
