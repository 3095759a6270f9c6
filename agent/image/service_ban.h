// Keeps packages from starting services in a root.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "common/sys/file_system.h"

namespace muster::agent {

// What invoke-rc.d and deb-systemd-invoke ask before they start anything.
inline constexpr char kPolicyProgram[] = "/usr/sbin/policy-rc.d";

// From Begin() to End() every start of a service is refused, by a program of ours at
// kPolicyProgram. What was there before is there again afterwards; what was put there meanwhile
// stays.
class ServiceBan {
 public:
  explicit ServiceBan(sys::FileSystem& files) : files_(files) {}

  absl::Status Begin();
  absl::Status End();

 private:
  sys::FileSystem& files_;
  std::optional<sys::FileView> before_;
};

}  // namespace muster::agent
