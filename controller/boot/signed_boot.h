// Booting by a kernel image that is signed, so that firmware with Secure Boot starts it: what is
// signed, and what a machine is told besides. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {
struct JoinWord;
}
namespace muster::v1 {
class Image;
}

namespace muster::controller::boot {

// "http://10.0.0.1:7483" of boot_listen, to which a signed kernel image holds on.
// FailedPrecondition: the setting names no single address and port.
absl::StatusOr<std::string> BootServerUrl(const std::string& boot_listen);

// The kernel's command line in a signed kernel image of `image`, the same for all machines: the
// root's digest, and `join`'s controller and authority, which a network cannot change then. The
// same kernel image boots an image of the kind `disk` from the network and from either root of the
// disk, so the line says how much of a partition is the root, and not which one.
// FailedPrecondition: the image cannot be booted so.
absl::StatusOr<std::string> SignedCommandLine(const v1::Image& image, absl::string_view server,
                                              JoinWord join);

// OK if the image has a kernel image that was signed with this command line. FailedPrecondition,
// with the remedy: it has none, or of another one.
absl::Status CheckSigned(const v1::Image& image, absl::string_view command_line);

// What a machine that boots a signed kernel image is told in its initramfs. None of it is
// believed: paths are of the server that was signed, what comes from there is compared with the
// digest that was signed, and nodes prove themselves to the controller.
struct BootWords {
  std::string node;  // that it joins as; "": it does not
  std::string image;
  std::string boot_id;
  uint64_t root_bytes = 0;
  bool has_peers = false;
  bool enrolls = false;       // firmware that has no keys gets the cluster's
  bool is_for_disk = false;   // it is to ask the controller about its disk
  std::string discovery_mac;  // of a machine that is no node and tells of itself; "": it is one
};
// "muster.root=/image/…", one word a line.
std::string RenderBootWords(const BootWords& words);

}  // namespace muster::controller::boot
