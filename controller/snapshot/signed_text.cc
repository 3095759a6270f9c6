#include "controller/snapshot/signed_text.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::controller::snapshot {
namespace {

constexpr absl::string_view kSignedBegin = "-----BEGIN PGP SIGNED MESSAGE-----";
constexpr absl::string_view kKeyBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----";
constexpr absl::string_view kKeyEnd = "-----END PGP PUBLIC KEY BLOCK-----";
constexpr absl::Duration kTimeout = absl::Minutes(1);
constexpr size_t kMaxShown = 200;

// Removes the folder.
struct Scratch {
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  const std::string path;
};

}  // namespace

absl::StatusOr<std::string> BinaryKeyring(absl::string_view text) {
  if (text.empty()) return absl::InvalidArgumentError("the keyring is empty");
  if (!absl::StrContains(text, kKeyBegin)) {
    // Every packet of OpenPGP begins with its highest bit set; a keybox has its magic word.
    const bool is_keybox = text.size() > 12 && text.substr(8, 4) == "KBXf";
    if (is_keybox || (static_cast<unsigned char>(text[0]) & 0x80) != 0) return std::string(text);
    return absl::InvalidArgumentError(
        "not a keyring of OpenPGP, neither binary nor in ASCII armor");
  }
  std::string keyring;
  bool is_inside = false;
  bool is_body = false;
  std::string encoded;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line == kKeyBegin) {
      is_inside = true;
      is_body = false;
      encoded.clear();
    } else if (is_inside && line == kKeyEnd) {
      std::string part;
      if (!absl::Base64Unescape(encoded, &part) || part.empty())
        return absl::InvalidArgumentError("the armor of the key is damaged");
      keyring += part;
      is_inside = false;
    } else if (is_inside && line.empty()) {
      is_body = true;                                     // the headers of the armor end here
    } else if (is_inside && is_body && line[0] != '=') {  // not the checksum
      absl::StrAppend(&encoded, line);
    }
  }
  if (is_inside || keyring.empty())
    return absl::InvalidArgumentError("the armor of the key is cut off");
  return keyring;
}

absl::Status CheckSignatures(const std::vector<std::string>& status_lines) {
  size_t good = 0;
  std::string other;  // why one does not count
  for (const absl::string_view line : status_lines) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, "[GNUPG:] ")) continue;
    const absl::string_view word = rest.substr(0, rest.find(' '));
    if (word == "BADSIG") return absl::PermissionDeniedError("a signature is bad");
    if (word == "GOODSIG") ++good;
    for (const absl::string_view fault : {"EXPSIG", "EXPKEYSIG", "REVKEYSIG", "NO_PUBKEY"}) {
      if (word == fault) other = std::string(rest);
    }
  }
  if (good > 0) return absl::OkStatus();
  if (other.empty()) return absl::PermissionDeniedError("it is not signed");
  return absl::PermissionDeniedError(absl::StrCat("no signature by a valid key of the keyring: ",
                                                  PlainText(other, Lines::kOne, kMaxShown)));
}

absl::StatusOr<std::string> ReadSigned(sys::ProcessRunner& processes, const std::string& path,
                                       absl::string_view keyring, const std::string& scratch) {
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::string file, files.Read(path));
  const std::string first = absl::StrCat("\n", kSignedBegin, "\n");
  if (!absl::StartsWith(file, first.substr(1)) || absl::StrContains(file.substr(1), first))
    return absl::PermissionDeniedError("it is not one signed text");
  ASSIGN_OR_RETURN(const std::string binary, BinaryKeyring(keyring));
  RETURN_IF_ERROR(files.MakeDirectory(scratch, 0700));
  const Scratch removed{scratch};
  const std::string ring = scratch + "/keyring";
  const std::string text = scratch + "/text";
  RETURN_IF_ERROR(
      files.WriteAtomically(ring, binary, {.mode = 0600, .uid = {}, .gid = {}, .verify = {}}));
  std::vector<std::string> lines;
  sys::ProcessSpec spec;
  spec.argv = {"gpgv",      "--homedir",   scratch,
               "--keyring", ring,          "--output",
               text,        "--status-fd", absl::StrCat(sys::kStatusFd),
               path};
  spec.timeout = kTimeout;
  spec.on_status_line = [&](absl::string_view line) { lines.emplace_back(line); };
  const absl::StatusOr<sys::ProcessResult> result = processes.Run(spec);
  if (absl::IsNotFound(result.status()))
    return absl::FailedPreconditionError("gpgv is not installed; install the package gpgv");
  RETURN_IF_ERROR(result.status());
  // It also fails where a second signature is by a key that the keyring lacks, so its lines decide.
  if (result->signal != 0 || result->timed_out) return sys::CheckSuccess(spec, *result);
  RETURN_IF_ERROR(CheckSignatures(lines));
  return files.Read(text);
}

}  // namespace muster::controller::snapshot
