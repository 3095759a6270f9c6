// What the machine of a build has to have.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::sys {
class ProcessRunner;
}

namespace muster::cli {

// Subordinate ids that a build needs: those of all accounts that packages and roles may make.
inline constexpr int kNeededIds = 65536;

// Whether the lines of an /etc/subuid or /etc/subgid give `user`, or the number `uid`, a range of
// at least kNeededIds. Pure.
bool HasSubordinateIds(const std::string& text, const std::string& user, unsigned uid);

// FailedPrecondition, with what to do about it: a program is missing, the person who calls has too
// few subordinate ids, or may not have a namespace with them.
absl::Status CheckBuildTools();
// The last of these alone.
absl::Status CheckNamespaces(sys::ProcessRunner& runner);

// Systemd's stub, to which a signed kernel image is added, and its boot loader for disks. One
// package has both.
inline constexpr char kEfiStub[] = "/usr/lib/systemd/boot/efi/linuxx64.efi.stub";
inline constexpr char kEfiLoader[] = "/usr/lib/systemd/boot/efi/systemd-bootx64.efi";

// The same for what signs images.
absl::Status CheckSigningTools();

}  // namespace muster::cli
