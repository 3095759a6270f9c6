#include "controller/validation/verdict/population.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

bool IsOfHardware(absl::string_view unit) {
  for (const absl::string_view word :
       {"TFLOPS", "TOPS", "GB/s", "MB/s", "Gbit/s", "Mbit/s", "GT/s", "1/s", "celsius"}) {
    if (unit == word) return true;
  }
  return false;
}

std::string AttributeOf(const v1::Subject& subject, const char* name) {
  const auto found = subject.attributes().find(name);
  return found == subject.attributes().end() ? "" : found->second;
}

bool IsOfOtherPort(const v1::CheckResult& result, const std::vector<std::string>& interfaces) {
  bool is_other = false;
  for (const v1::Subject& subject : result.subjects()) {
    // RDMA ports have names of their own.
    if (subject.kind() != "nic" || !AttributeOf(subject, "rate").empty()) continue;
    if (std::find(interfaces.begin(), interfaces.end(), subject.id()) != interfaces.end()) {
      return false;
    }
    is_other = true;
  }
  return is_other && !interfaces.empty();
}

std::string PopulationOf(const v1::Subject& subject) {
  // Two ports of one card may have different jobs, and slots of different width; a file system is
  // identified by its mount point.
  const bool by_name = subject.kind() == "nic" || subject.kind() == "file_system";
  const std::string name = by_name ? subject.id() : "";
  return absl::StrCat(
      subject.kind(), "\n", name, "\n", subject.model(), "\n",
      AttributeOf(subject, "vbios_version"), "\n", AttributeOf(subject, "driver_version"), "\n",
      AttributeOf(subject, "power_limit_watts"), "\n", AttributeOf(subject, "firmware_version"));
}

}  // namespace muster::controller::validation
