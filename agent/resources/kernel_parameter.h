// Kernel parameters as sysctl(8) knows them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sys/file_system.h"

namespace muster::agent {

// Values by key, for instance {"vm.swappiness", "10"}.
using KernelParameters = std::map<std::string, std::string>;
using ParameterNames = std::set<std::string>;

// "net/ipv4/ip_forward" and "net.ipv4.ip_forward" become the latter; within a part '/' stands for a
// dot ("net.ipv4.conf.eth0/100.forwarding"). InvalidArgument if it is not a key.
absl::StatusOr<std::string> CanonicalParameter(absl::string_view key);
// Each run of blanks becomes one; leading and trailing ones are removed.
std::string CanonicalValue(absl::string_view value);

// The current value, canonical. `key` is canonical too. nullopt: the kernel has no such parameter.
absl::StatusOr<std::optional<std::string>> ReadParameter(const std::string& key,
                                                         sys::FileSystem& files);
// As ReadParameter(), for a parameter that must exist and be writable if its value is not `wanted`:
// FailedPrecondition names the remedy when it is absent, InvalidArgument when it is read-only.
absl::StatusOr<std::string> ReadParameterToSet(const std::string& key, const std::string& wanted,
                                               sys::FileSystem& files);
absl::Status WriteParameter(const std::string& key, const std::string& value,
                            sys::FileSystem& files);

// The text of a file of /etc/sysctl.d, with a dash before the keys in `optional`, and the reverse,
// which ignores lines that it does not understand.
std::string FormatParameters(const KernelParameters& parameters,
                             const ParameterNames& optional = {});
KernelParameters ParseParameters(absl::string_view text);

// Where a file of a sysctl.d folder sets a parameter.
struct ParameterLine {
  int number = 0;  // from 1
  std::string value;
};
// The last line that sets `key`, which is canonical, as sysctl.d(5) reads the file. A pattern does
// not count: any line for the key itself goes before it.
std::optional<ParameterLine> FindParameter(absl::string_view text, absl::string_view key);

}  // namespace muster::agent
