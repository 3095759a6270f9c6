#include "cli/image/signing/signing_revocation.h"

#include <optional>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/absolute_path.h"
#include "cli/image/build_tools.h"
#include "cli/image/kernel_image.h"
#include "cli/image/signing/signing_keys.h"
#include "cli/image/signing/signing_ledger.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/value/image_manifest.h"

namespace muster::cli {
namespace {

constexpr char kNodesFile[] = "dbx.list";

// Whether a program of the folder has this digest. Machines start by the loader that is there.
absl::StatusOr<bool> HasProgram(SigningKeys& keys, const std::string& digest) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, sys::RealFileSystem().List(keys.folder()));
  for (const std::string& name : names) {
    if (!absl::EndsWith(name, ".efi")) continue;
    ASSIGN_OR_RETURN(const std::string content, keys.ReadProgram(keys.File(name)));
    const absl::StatusOr<SignedProgram> program = ReadSignedProgram(content);
    if (program.ok() && program->digest == digest) return true;
  }
  return false;
}

// The entries that are meant by NAME@DIGEST, the name of a loader, or the path of a signed file.
absl::StatusOr<SigningLedger> FindRevoked(SigningKeys& keys, const SigningLedger& all,
                                          const std::string& what) {
  const std::string label = what.substr(what.rfind('/') + 1);
  RETURN_IF_ERROR(CheckLabel(label));
  ASSIGN_OR_RETURN(SigningLedger meant, FindMeant(all, what));
  if (!meant.empty()) return meant;
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> found, files.Stat(AbsolutePath(what)));
  if (!found.has_value())
    return absl::NotFoundError(
        absl::StrCat("'", what, "' is neither in ", keys.File(kSignedFile),
                     " nor a file; name NAME@DIGEST, with ",
                     "at least 8 digits, the file name of a loader, or the path of a signed file"));
  ASSIGN_OR_RETURN(SignedEntry entry, keys.ReadEntry(AbsolutePath(what), label));
  if (const SignedEntry* const known = FindSigned(all, entry.digest)) entry = *known;
  bool is_in_use = IsLoaderInUse(all, entry);
  // The ledger may be younger than the loader.
  if (entry.root.empty()) {
    ASSIGN_OR_RETURN(const bool is_there, HasProgram(keys, entry.digest));
    is_in_use |= is_there;
  }
  if (!is_in_use) return SigningLedger{entry};
  return absl::FailedPreconditionError(
      absl::StrCat("machines start by ", what,
                   ": sign a newer one first, and have the boot server give it out"));
}

// Adds to what the firmware has. The file begins with the attributes, as Linux's efivarfs wants it.
absl::Status MakeRevocationAuth(SigningKeys& keys, const SigningLedger& revoked) {
  sys::RealFileSystem files;
  const std::string raw = keys.Path("dbx", "one");
  std::string lists;
  for (const SignedEntry& entry : revoked) {
    RETURN_IF_ERROR(keys.Write("dbx.one", absl::HexStringToBytes(entry.digest)));
    ASSIGN_OR_RETURN(const std::string list, keys.ListOf("sha256", raw));
    lists += list;
  }
  RETURN_IF_ERROR(files.Remove(raw, /*recursive=*/false));
  // It contains the time: made anew from the same lists, it would change a file on every node.
  const absl::StatusOr<std::string> before = files.Read(keys.Path("dbx", "esl"));
  const absl::StatusOr<std::string> auth = files.Read(keys.Path("dbx", "auth"));
  if (before.ok() && *before == lists && auth.ok() && absl::EndsWith(*auth, lists))
    return absl::OkStatus();
  return keys.MakeAuth(
      "dbx", "KEK", lists,
      {"--include-attrs", "--attr", absl::StrCat(SigningKeys::kAttributes, ",APPEND_WRITE")});
}

// For the role boot_revocations: the certificate by which firmware starts what was signed, as a
// line of hex digits, and then the entries.
absl::Status WriteForNodes(SigningKeys& keys, const SigningLedger& revoked) {
  ASSIGN_OR_RETURN(const std::string certificate,
                   sys::RealFileSystem().Read(keys.Path("db", "der")));
  return keys.Write(kNodesFile, absl::StrCat(absl::BytesToHexString(certificate), "\n",
                                             WriteSigningLedger(revoked)));
}

}  // namespace

absl::Status RevokeSigned(const Revocation& revocation, sys::ProcessRunner& processes,
                          absl::FunctionRef<void(absl::string_view)> say) {
  SigningKeys keys(revocation.folder, processes);
  RETURN_IF_ERROR(keys.Need("KEK"));
  RETURN_IF_ERROR(keys.Need("db"));
  RETURN_IF_ERROR(CheckSigningTools());
  ASSIGN_OR_RETURN(const SigningLedger all, keys.ReadLedger(kSignedFile));
  ASSIGN_OR_RETURN(SigningLedger revoked, keys.ReadLedger(kRevokedFile));
  std::vector<std::string> lines;
  SigningLedger named;
  for (const std::string& what : revocation.what) {
    ASSIGN_OR_RETURN(const SigningLedger meant, FindRevoked(keys, all, what));
    for (const SignedEntry& entry : meant) {
      // A file that the ledger lacks, and that is no image, may be the loader of disks.
      const bool is_unknown_loader = entry.root.empty() && FindSigned(all, entry.digest) == nullptr;
      if ((entry.label == kLoaderArtifact || is_unknown_loader) && !revocation.force)
        return absl::FailedPreconditionError(absl::StrCat(
            what, is_unknown_loader ? " may boot disks" : " boots disks",
            ", and those that were written with it no longer boot once it is revoked: have them ",
            "written with an image that was signed later, and then add --force"));
      const bool is_new = FindSigned(revoked, entry.digest) == nullptr;
      lines.push_back(
          absl::StrCat(ShownLabel(entry.label), is_new ? " is revoked" : " was revoked before"));
      if (is_new) revoked.push_back(entry);
      named.push_back(entry);
    }
  }
  std::set<std::string> still;
  for (const SignedEntry& entry : named) {
    for (const SignedEntry& other : OthersOfRoot(all, revoked, entry.root))
      still.insert(absl::StrCat(ShownLabel(other.label), " boots the same root as ",
                                ShownLabel(entry.label), ", and is not revoked: revoke it, too"));
  }
  lines.insert(lines.end(), still.begin(), still.end());
  // The ledger first: it cannot be made anew from anything else.
  RETURN_IF_ERROR(keys.Write(kRevokedFile, WriteSigningLedger(revoked)));
  RETURN_IF_ERROR(MakeRevocationAuth(keys, revoked));
  RETURN_IF_ERROR(WriteForNodes(keys, RevokedForNodes(all, revoked)));
  for (const std::string& line : lines) say(line);
  say(absl::StrCat(keys.Path("dbx", "auth"), " and ", kNodesFile,
                   " are for the role boot_revocations, by which nodes take them"));
  return absl::OkStatus();
}

}  // namespace muster::cli
