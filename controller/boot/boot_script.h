// The scripts that iPXE is sent. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::controller::boot {

// The script ends with an error, so that the firmware tries its next device, the disk; after a
// success it would show its menu. `why` is one line for the console.
std::string LocalDiskScript(absl::string_view why);

// The pause of a script before it is asked for again.
inline constexpr int kAskAgainSeconds = 30;

// Asks again after a while, because a machine that is to boot an image has no disk to fall back to.
// `self` is the address of the script.
std::string RetryScript(absl::string_view why, absl::string_view self);

struct ImageScript {
  std::string what;     // "c001 boots debian-worker@1a2b3c4d5e6f", for the console
  std::string node;     // a DNS label
  std::string server;   // "http://10.0.0.1:7483"
  std::string self;     // the address of the script
  std::string image;    // its digest
  std::string boot_id;  // "": of no boot that is known, and nothing is reported
  std::string root_sha256;
  uint64_t root_bytes = 0;
  bool has_peers = false;  // the root comes in chunks, from others that boot, too
  // The build of an image that is written to a disk, "debian-worker-disk@1a2b3c4d5e6f", and the
  // disk that the inventory names; "": as the image says.
  std::string install;
  std::string disk;
  std::string discovery;  // where a machine that is no node tells of itself; "": it is one
  std::string join;       // the value of kJoinWord; "": it does not join by itself
  std::vector<std::string> kernel_arguments;  // the definition's
};
// Fetches kernel and initrd and starts them with the lease that iPXE has. Where one does not come,
// the script is asked for again after a while: it may name another image by then.
std::string RenderImageScript(const ImageScript& script);

// The word by which the initramfs knows that the root is Muster's.
inline constexpr char kBootWord[] = "boot=muster";
// Whether a kernel argument of a definition is repeated by a boot loader: ${…} would be iPXE's, and
// kBootWord is there.
bool IsForLoader(absl::string_view argument);

struct SignedScript {
  std::string what;
  std::string server;        // as of ImageScript
  std::string self;          // the address of the script
  std::string image;         // its digest
  std::string boot_id;       // "": nothing is reported
  std::string command_line;  // what the kernel image was signed with
};
// Fetches the signed kernel image and starts it. What firmware does not start is reported, and
// asked for again after a while.
std::string RenderSignedScript(const SignedScript& script);

}  // namespace muster::controller::boot
