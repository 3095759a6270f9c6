// A unified kernel image: systemd's stub with kernel, initramfs and command line as sections of one
// EFI program, which is signed as a whole. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::cli {

// Where sections can be added to an EFI program (PE32+, see Microsoft's "PE Format").
struct StubShape {
  uint64_t image_base = 0;
  uint64_t alignment = 0;  // of sections in memory; at least a page
  uint64_t end = 0;        // of the last section, from the base
};
// InvalidArgument: the content is no PE32+ program.
absl::StatusOr<StubShape> ReadStub(absl::string_view content);

// What a signed EFI program is known by.
struct SignedProgram {
  // The SHA-256, in lower-case hex, that was signed and by which firmware revokes it: of the
  // program without its signatures, so that it stays the same when the program is signed again.
  std::string digest;
  // The SHA-256 of the root that its command line names; "": it names none.
  std::string root;
};
// InvalidArgument: the content is no PE32+ program, or has no signature over a SHA-256.
absl::StatusOr<SignedProgram> ReadSignedProgram(absl::string_view content);

// A file that becomes a section, ".linux", ".initrd", ".cmdline", ".osrel" or ".uname" of
// systemd-stub(7).
struct KernelImageSection {
  std::string name;
  std::string path;
  uint64_t bytes = 0;
};
// The arguments of objcopy that write the stub with the sections to `target`, one after the other.
// The kernel comes last, because it is unpacked behind itself.
std::vector<std::string> JoinKernelImage(const std::string& stub, const StubShape& shape,
                                         const std::vector<KernelImageSection>& sections,
                                         const std::string& target);

// A file for an initramfs.
struct InitrdFile {
  std::string path;  // "etc/muster/keys/PK.auth"
  std::string content;
};
// `initrd` with the files added to it, as root's own; all folders on the way to them are made. See
// the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
std::string AddToInitrd(std::string initrd, const std::vector<InitrdFile>& files);

}  // namespace muster::cli
