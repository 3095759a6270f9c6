// Makes the signed kernel image of an image that the controller keeps.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/image/image_folder.h"
#include "muster/v1/image.pb.h"

namespace muster::sys {
class ProcessRunner;
}

namespace muster::cli {

class Connection;

struct Signing {
  std::string image;  // NAME or NAME@DIGEST
  std::string keys;   // folder, see MakeSigningKeys()
};

// Fetches kernel and initramfs, joins them with the command line that the controller wants, signs
// that, with an image for disks the boot loader, too, and has the controller keep it; takes some
// 200 MiB in /var/tmp meanwhile. Errors: a program or a key is missing; the image cannot be signed.
// Cancelled: Ctrl-C, for which the caller holds an InterruptFlag.
absl::StatusOr<v1::Image> SignImage(const Connection& connection, const Signing& signing,
                                    sys::ProcessRunner& processes, const OnTransfer& on_transfer);

}  // namespace muster::cli
