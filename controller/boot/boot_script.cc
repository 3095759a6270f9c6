#include "controller/boot/boot_script.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/text/join_word.h"
#include "common/base/text/plain_text.h"
#include "common/value/image_manifest.h"
#include "controller/boot/boot_request.h"

namespace muster::controller::boot {
namespace {

constexpr size_t kMaxLine = 200;

// What iPXE would expand ("${") or take for another command ("&&", "||") is left out.
std::string EchoOf(absl::string_view text) {
  std::string line = PlainText(text, Lines::kOne, kMaxLine);
  for (char& c : line) {
    const bool is_plain =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(" .,:;@_-/()", c);
    if (!is_plain) c = ' ';
  }
  return absl::StrCat("echo muster: ", line, "\n");
}

// For as long as nobody answers, too: a script that ends with an error leaves the machine to the
// firmware's next device.
std::string AskAgain(absl::string_view self) {
  return absl::StrCat(":again\necho muster: asking again in ", kAskAgainSeconds, " s\nsleep ",
                      kAskAgainSeconds, "\nchain --replace --autofree ", self, " || goto again\n");
}

}  // namespace

bool IsForLoader(absl::string_view argument) {
  return !absl::StrContains(argument, '$') && argument != kBootWord;
}

std::string LocalDiskScript(absl::string_view why) {
  return absl::StrCat("#!ipxe\n", EchoOf(why), "exit 1\n");
}

std::string RetryScript(absl::string_view why, absl::string_view self) {
  return absl::StrCat("#!ipxe\n", EchoOf(why), AskAgain(self));
}

std::string RenderImageScript(const ImageScript& script) {
  const auto url = [&](absl::string_view artifact) {
    return absl::StrCat(script.server, ArtifactPath(script.image, artifact, script.boot_id));
  };
  std::string arguments;
  if (!script.install.empty()) absl::StrAppend(&arguments, " muster.install=", script.install);
  if (!script.disk.empty()) absl::StrAppend(&arguments, " muster.disk=", script.disk);
  if (!script.boot_id.empty())
    absl::StrAppend(&arguments, " muster.report=", script.server, ReportPath(script.boot_id));
  if (script.has_peers && !script.boot_id.empty())
    absl::StrAppend(&arguments, " muster.chunks=", script.server,
                    ChunksPath(script.image, script.boot_id));
  if (!script.discovery.empty())
    absl::StrAppend(&arguments, " muster.discovery=", script.discovery);
  if (!script.join.empty()) absl::StrAppend(&arguments, " ", kJoinWord, "=", script.join);
  for (const std::string& argument : script.kernel_arguments) {
    if (IsForLoader(argument)) absl::StrAppend(&arguments, " ", argument);
  }
  return absl::StrCat("#!ipxe\n", EchoOf(script.what),
                      // The card that iPXE has used comes up in the initramfs with the same lease,
                      // without asking again.
                      "kernel --name kernel ", url("kernel"), " initrd=initrd ", kBootWord,
                      " BOOTIF=01-${net0/mac:hexhyp} ip=${net0/ip}::${net0/gateway}:"
                      "${net0/netmask}:",
                      script.node, "::off muster.root=", url("root.squashfs"),
                      " muster.sha256=", script.root_sha256, " muster.size=", script.root_bytes,
                      arguments, " || goto failed\n", "initrd --name initrd ", url("initrd"),
                      " || goto failed\nboot ||\n",
                      // What has come would go to the next kernel as a part of its initramfs.
                      ":failed\nimgfree ||\n", AskAgain(script.self));
}

std::string RenderSignedScript(const SignedScript& script) {
  // iPXE asks the firmware at the first look at what it has fetched, so fetching comes alone: a
  // server that stopped in the middle is no denial. Firmware without Secure Boot has the kernel
  // take the words from here, where they are the same.
  std::string text =
      absl::StrCat("#!ipxe\n", EchoOf(script.what), "imgfetch --name ", kSignedArtifact, " ",
                   script.server, ArtifactPath(script.image, kSignedArtifact, script.boot_id), " ",
                   script.command_line, " || goto again\nboot ", kSignedArtifact, " ||\n",
                   EchoOf("the firmware does not start the signed kernel image"), "imgfree ",
                   kSignedArtifact, " ||\n");
  if (!script.boot_id.empty())
    absl::StrAppend(&text, "imgfetch --name told ", script.server, ReportPath(script.boot_id),
                    "?phase=denied&why=signature && imgfree told ||\n");
  return absl::StrCat(text, AskAgain(script.self));
}

}  // namespace muster::controller::boot
