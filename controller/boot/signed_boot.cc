#include "controller/boot/signed_boot.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/join_word.h"
#include "common/image/distribution.h"
#include "common/value/image_manifest.h"
#include "controller/boot/boot_request.h"
#include "controller/boot/boot_script.h"
#include "muster/v1/image.pb.h"

namespace muster::controller::boot {

absl::StatusOr<std::string> BootServerUrl(const std::string& boot_listen) {
  const size_t colon = boot_listen.rfind(':');
  const std::string host = boot_listen.substr(0, colon);
  if (boot_listen == "off" || host.empty() || host == "0.0.0.0" || host == "[::]" || host == "*")
    return absl::FailedPreconditionError(
        absl::StrCat("boot_listen in controller.yaml is ", boot_listen,
                     ": name the one address of the nodes' network there, such as 10.0.0.1:7483, "
                     "to which a signed kernel image holds on"));
  return absl::StrCat("http://", boot_listen);
}

absl::StatusOr<std::string> SignedCommandLine(const v1::Image& image, absl::string_view server,
                                              JoinWord join) {
  RETURN_IF_ERROR(muster::image::CheckSigningOf(image.manifest().distribution()));
  const v1::ImageArtifact* const root = FindArtifact(image, kRootArtifact);
  if (root == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat(BuildName(image), " has no ", kRootArtifact, ", so it boots no machine"));
  join.node.clear();
  std::string line =
      absl::StrCat(kBootWord, " ip=dhcp muster.server=", server, " muster.sha256=", root->sha256(),
                   " ", kJoinWord, "=", join.ToString());
  if (image.manifest().has_disk())
    absl::StrAppend(&line, " muster.image=", BuildName(image), " muster.size=", root->size_bytes());
  bool has_panic = false;
  for (const std::string& argument : image.manifest().kernel_arguments()) {
    has_panic |= absl::StartsWith(argument, "panic=");
    if (IsForLoader(argument)) absl::StrAppend(&line, " ", argument);
  }
  // Without it a fault in the initramfs ends in a shell on the console.
  return has_panic ? line : absl::StrCat(line, " panic=30");
}

absl::Status CheckSigned(const v1::Image& image, absl::string_view command_line) {
  if (!image.has_signed_kernel())
    return absl::FailedPreconditionError(absl::StrCat(
        "it is not signed, and `boot_signed` asks for it; `muster image sign` does that"));
  if (image.signed_kernel().command_line() == command_line) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "it was signed for another address of the boot server or the controller, or another "
      "authority; `muster image sign` signs it anew");
}

std::string RenderBootWords(const BootWords& words) {
  std::string text =
      absl::StrCat("muster.root=", ArtifactPath(words.image, kRootArtifact, words.boot_id),
                   "\nmuster.size=", words.root_bytes, "\n");
  if (!words.boot_id.empty())
    absl::StrAppend(&text, "muster.report=", ReportPath(words.boot_id), "\n");
  if (words.has_peers && !words.boot_id.empty())
    absl::StrAppend(&text, "muster.chunks=", ChunksPath(words.image, words.boot_id), "\n");
  if (words.enrolls) absl::StrAppend(&text, "muster.enroll=1\n");
  if (words.is_for_disk) absl::StrAppend(&text, "muster.install=1\n");
  if (!words.node.empty()) absl::StrAppend(&text, kNodeWord, "=", words.node, "\n");
  if (!words.discovery_mac.empty())
    absl::StrAppend(&text, "muster.discovery=", DiscoveryPath(words.discovery_mac), "\n");
  return text;
}

}  // namespace muster::controller::boot
