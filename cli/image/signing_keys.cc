#include "cli/image/signing_keys.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/absolute_path.h"
#include "cli/image/build_tools.h"
#include "cli/image/kernel_image.h"
#include "cli/image/signing_ledger.h"
#include "common/base/digest.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"
#include "common/value/image_manifest.h"

namespace muster::cli {
namespace {

// Firmware does not look at the time, and to replace keys in it takes a visit of each machine.
constexpr char kDays[] = "7300";
constexpr size_t kMaxProgramBytes = size_t{2} << 30;
// Files of the folder: the ledger, and what of it was revoked.
constexpr char kSignedFile[] = "signed";
constexpr char kRevokedFile[] = "revoked";
constexpr char kTrustedFolder[] = "trusted";
constexpr char kNodesFile[] = "dbx.list";

class Keys {
 public:
  Keys(const std::string& folder, sys::ProcessRunner& processes)
      : folder_(folder), processes_(processes) {}

  std::string Path(absl::string_view name, absl::string_view what) const {
    return absl::StrCat(folder_, "/", name, ".", what);
  }
  std::string File(absl::string_view name) const { return absl::StrCat(folder_, "/", name); }
  absl::Status Run(std::vector<std::string> argv) {
    sys::ProcessSpec spec;
    spec.argv = std::move(argv);
    spec.timeout = absl::Minutes(2);
    return sys::RunChecked(processes_, spec).status();
  }
  // FailedPrecondition: the folder has a part of the key, which nothing may replace, because
  // firmware may trust it.
  absl::StatusOr<bool> Has(const std::string& name) {
    std::string there, missing;
    for (const char* what : {"key", "pem", "der"}) {
      const std::string path = Path(name, what);
      ASSIGN_OR_RETURN(const std::optional<sys::FileStat> found, files_.Stat(path));
      (found.has_value() ? there : missing) = path;
    }
    if (missing.empty() || there.empty()) return missing.empty();
    return absl::FailedPreconditionError(absl::StrCat(
        there, " is there, and ", missing,
        " is not; bring it back, or, if no firmware trusts this ", "key, remove ", there));
  }
  absl::Status Make(const std::string& name) {
    RETURN_IF_ERROR(Run({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-sha256",
                         "-keyout", Path(name, "key"), "-out", Path(name, "pem"), "-days", kDays,
                         "-subj", absl::StrCat("/CN=Muster ", name, "/")}));
    return Run({"openssl", "x509", "-in", Path(name, "pem"), "-outform", "der", "-out",
                Path(name, "der")});
  }
  // A list of one entry as firmware keeps it: of a certificate ("x509") or a digest ("sha256").
  absl::StatusOr<std::string> ListOf(const std::string& type, const std::string& entry) {
    // Firmware tells entries apart by their owner, too, and adds none that it has.
    ASSIGN_OR_RETURN(const std::string kek, files_.Read(Path("KEK", "der")));
    const std::string one = File("one.esl");
    RETURN_IF_ERROR(
        Run({"sbsiglist", "--owner", UuidOf(kek), "--type", type, "--output", one, entry}));
    ASSIGN_OR_RETURN(std::string list, files_.Read(one));
    RETURN_IF_ERROR(files_.Remove(one, /*recursive=*/false));
    return list;
  }
  // Lists for the variable `name`, signed by the key that may change it. sbvarsign signs for a
  // variable that is added to unless it is given attributes.
  absl::Status MakeAuth(const std::string& name, const std::string& by, const std::string& lists,
                        const std::vector<std::string>& options) {
    RETURN_IF_ERROR(Write(absl::StrCat(name, ".esl"), lists));
    std::vector<std::string> argv = {"sbvarsign"};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.insert(argv.end(), {"--key", Path(by, "key"), "--cert", Path(by, "pem"), "--output",
                             Path(name, "auth"), name, Path(name, "esl")});
    return Run(std::move(argv));
  }
  // For firmware that has no such variable.
  absl::Status MakeKeyAuth(const std::string& name, const std::string& by,
                           const std::vector<std::string>& certificates) {
    std::string lists;
    for (const std::string& certificate : certificates) {
      ASSIGN_OR_RETURN(const std::string list, ListOf("x509", certificate));
      lists += list;
    }
    return MakeAuth(name, by, lists, {"--attr", kAttributes});
  }
  // Adds to what the firmware has. The file begins with the attributes, as Linux's efivarfs wants
  // it.
  absl::Status MakeRevocationAuth(const SigningLedger& revoked) {
    const std::string raw = Path("dbx", "one");
    std::string lists;
    for (const SignedEntry& entry : revoked) {
      RETURN_IF_ERROR(Write("dbx.one", absl::HexStringToBytes(entry.digest)));
      ASSIGN_OR_RETURN(const std::string list, ListOf("sha256", raw));
      lists += list;
    }
    RETURN_IF_ERROR(files_.Remove(raw, /*recursive=*/false));
    // It contains the time: made anew from the same lists, it would change a file on every node.
    const absl::StatusOr<std::string> before = files_.Read(Path("dbx", "esl"));
    const absl::StatusOr<std::string> auth = files_.Read(Path("dbx", "auth"));
    if (before.ok() && *before == lists && auth.ok() && absl::EndsWith(*auth, lists))
      return absl::OkStatus();
    return MakeAuth("dbx", "KEK", lists,
                    {"--include-attrs", "--attr", absl::StrCat(kAttributes, ",APPEND_WRITE")});
  }
  // The paths of all certificates that were to be trusted, these included.
  absl::StatusOr<std::vector<std::string>> KeepTrusted(const std::vector<std::string>& named) {
    const std::string folder = File(kTrustedFolder);
    RETURN_IF_ERROR(files_.MakeDirectory(folder, 0700));
    for (const std::string& path : named) {
      ASSIGN_OR_RETURN(const std::string certificate, files_.Read(path));
      RETURN_IF_ERROR(
          Write(absl::StrCat(kTrustedFolder, "/", Sha256Hex(certificate), ".der"), certificate));
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(folder));
    std::vector<std::string> paths;
    for (const std::string& name : names)
      if (absl::EndsWith(name, ".der")) paths.push_back(absl::StrCat(folder, "/", name));
    return paths;
  }

  // Empty: the folder has no such file.
  absl::StatusOr<SigningLedger> ReadLedger(absl::string_view file) {
    const std::string path = File(file);
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> found, files_.Stat(path));
    if (!found.has_value()) return SigningLedger();
    ASSIGN_OR_RETURN(const std::string text, files_.Read(path));
    absl::StatusOr<SigningLedger> ledger = ReadSigningLedger(text);
    if (!ledger.ok()) return Annotate(ledger.status(), path);
    return ledger;
  }
  absl::Status Write(absl::string_view file, const std::string& content) {
    return files_.WriteAtomically(File(file), content,
                                  {.mode = 0644, .uid = {}, .gid = {}, .verify = {}});
  }
  // What a program that the folder's db key has signed is known by.
  absl::StatusOr<SignedEntry> ReadEntry(const std::string& path, const std::string& label) {
    if (!std::all_of(label.begin(), label.end(), absl::ascii_isgraph))
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": a line of the ledger has no room for the blanks in the name; rename the file"));
    RETURN_IF_ERROR(Run({"sbverify", "--cert", Path("db", "pem"), path}));
    ASSIGN_OR_RETURN(const std::string content, files_.Read(path, kMaxProgramBytes));
    const absl::StatusOr<SignedProgram> program = ReadSignedProgram(content);
    if (!program.ok()) return Annotate(program.status(), path);
    return SignedEntry{program->digest, program->root, label};
  }
  // Whether a program of the folder has this digest. Machines start by the loader that is there.
  absl::StatusOr<bool> HasProgram(const std::string& digest) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(folder_));
    for (const std::string& name : names) {
      if (!absl::EndsWith(name, ".efi")) continue;
      ASSIGN_OR_RETURN(const std::string content, files_.Read(File(name), kMaxProgramBytes));
      const absl::StatusOr<SignedProgram> program = ReadSignedProgram(content);
      if (program.ok() && program->digest == digest) return true;
    }
    return false;
  }
  // For the role boot_revocations: the certificate by which firmware starts what was signed, as a
  // line of hex digits, and then the entries.
  absl::Status WriteForNodes(const SigningLedger& revoked) {
    ASSIGN_OR_RETURN(const std::string certificate, files_.Read(Path("db", "der")));
    return Write(kNodesFile, absl::StrCat(absl::BytesToHexString(certificate), "\n",
                                          WriteSigningLedger(revoked)));
  }
  // NotFound: the folder does not have the key.
  absl::Status Need(const std::string& name) {
    ASSIGN_OR_RETURN(const bool is_there, Has(name));
    if (is_there) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat(folder_, " has no ", name, ".key, ", name, ".pem and ",
                                            name, ".der; `muster image keys ", folder_,
                                            "` makes them"));
  }

 private:
  static constexpr char kAttributes[] =
      "NON_VOLATILE,BOOTSERVICE_ACCESS,RUNTIME_ACCESS,TIME_BASED_AUTHENTICATED_WRITE_ACCESS";

  const std::string folder_;
  sys::ProcessRunner& processes_;
  sys::RealFileSystem files_;
};

// The entries that are meant by NAME@DIGEST, the name of a loader, or the path of a signed file.
absl::StatusOr<SigningLedger> FindRevoked(Keys& keys, const SigningLedger& all,
                                          const std::string& what) {
  ASSIGN_OR_RETURN(SigningLedger meant, FindMeant(all, what));
  if (!meant.empty()) return meant;
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> found, files.Stat(AbsolutePath(what)));
  if (!found.has_value())
    return absl::NotFoundError(
        absl::StrCat("'", what, "' is neither in ", keys.File(kSignedFile),
                     " nor a file; name NAME@DIGEST, with ",
                     "at least 8 digits, the file name of a loader, or the path of a signed file"));
  const std::string label = what.substr(what.rfind('/') + 1);
  ASSIGN_OR_RETURN(SignedEntry entry, keys.ReadEntry(AbsolutePath(what), label));
  if (const SignedEntry* const known = FindSigned(all, entry.digest)) entry = *known;
  bool is_in_use = IsLoaderInUse(all, entry);
  // The ledger may be younger than the loader.
  if (entry.root.empty()) {
    ASSIGN_OR_RETURN(const bool is_there, keys.HasProgram(entry.digest));
    is_in_use |= is_there;
  }
  if (!is_in_use) return SigningLedger{entry};
  return absl::FailedPreconditionError(
      absl::StrCat("machines start by ", what,
                   ": sign a newer one first, and have the boot server give it out"));
}

// Signs `program` into `target`, compares, and writes it into the ledger.
absl::Status SignInto(Keys& keys, const std::string& label, const std::string& program,
                      const std::string& target) {
  RETURN_IF_ERROR(keys.Run({"sbsign", "--key", keys.Path("db", "key"), "--cert",
                            keys.Path("db", "pem"), "--output", target, program}));
  ASSIGN_OR_RETURN(const SignedEntry entry, keys.ReadEntry(target, label));
  ASSIGN_OR_RETURN(const SigningLedger revoked, keys.ReadLedger(kRevokedFile));
  for (const SignedEntry& each : revoked) {
    if (each.digest == entry.digest || (IsImageLabel(label) && each.label == label))
      return absl::FailedPreconditionError(absl::StrCat(
          ShownLabel(label), " was revoked, and is not signed again: ", keys.File(kRevokedFile),
          " has ", ShownLabel(each.label)));
    if (!entry.root.empty() && each.root == entry.root)
      return absl::FailedPreconditionError(
          absl::StrCat(ShownLabel(label), " is not signed: it boots the same root as ",
                       ShownLabel(each.label), ", which was revoked; build it anew"));
  }
  ASSIGN_OR_RETURN(SigningLedger ledger, keys.ReadLedger(kSignedFile));
  AddSigned(ledger, entry);
  return keys.Write(kSignedFile, WriteSigningLedger(ledger));
}

}  // namespace

absl::Status MakeSigningKeys(const KeysRecipe& recipe, sys::ProcessRunner& processes,
                             absl::FunctionRef<void(absl::string_view)> say) {
  Keys keys(recipe.folder, processes);
  for (const std::string name : kSigningKeys) RETURN_IF_ERROR(keys.Has(name).status());
  RETURN_IF_ERROR(CheckSigningTools());
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> there, files.Stat(recipe.folder));
  if (!there.has_value()) RETURN_IF_ERROR(files.MakeDirectory(recipe.folder, 0700));
  for (const std::string name : kSigningKeys) {
    ASSIGN_OR_RETURN(const bool is_there, keys.Has(name));
    if (is_there) continue;
    RETURN_IF_ERROR(keys.Make(name));
    say(absl::StrCat(keys.Path(name, "key"), " is new"));
  }
  ASSIGN_OR_RETURN(std::vector<std::string> trusted, keys.KeepTrusted(recipe.trusted));
  trusted.insert(trusted.begin(), keys.Path("db", "der"));
  RETURN_IF_ERROR(keys.MakeKeyAuth("db", "KEK", trusted));
  RETURN_IF_ERROR(keys.MakeKeyAuth("KEK", "PK", {keys.Path("KEK", "der")}));
  RETURN_IF_ERROR(keys.MakeKeyAuth("PK", "PK", {keys.Path("PK", "der")}));
  say(absl::StrCat(recipe.folder, "/{PK,KEK,db}.auth are for firmware in setup mode, which trusts ",
                   trusted.size() == 1 ? "nobody else then"
                                       : absl::StrCat("the certificates in ", recipe.folder, "/",
                                                      kTrustedFolder, " then, too")));
  if (recipe.loader.empty()) return absl::OkStatus();
  const std::string name = recipe.loader.substr(recipe.loader.rfind('/') + 1);
  const std::string target = absl::StrCat(recipe.folder, "/", name);
  RETURN_IF_ERROR(SignProgram(recipe.folder, name, recipe.loader, target, processes));
  say(absl::StrCat(target, " is signed: the role boot_server takes it as boot_server_loader"));
  return absl::OkStatus();
}

absl::Status SignProgram(const std::string& folder, const std::string& label,
                         const std::string& program, const std::string& target,
                         sys::ProcessRunner& processes) {
  Keys keys(folder, processes);
  RETURN_IF_ERROR(keys.Need("db"));
  // The program that is there stays if this one cannot take its place.
  const std::string fresh = absl::StrCat(target, ".new");
  absl::Status status = SignInto(keys, label, program, fresh);
  std::error_code error;
  if (status.ok()) {
    std::filesystem::rename(fresh, target, error);
    if (error) status = absl::UnavailableError(absl::StrCat(target, ": ", error.message()));
  }
  if (!status.ok()) std::filesystem::remove(fresh, error);
  return status;
}

absl::Status RevokeSigned(const Revocation& revocation, sys::ProcessRunner& processes,
                          absl::FunctionRef<void(absl::string_view)> say) {
  Keys keys(revocation.folder, processes);
  RETURN_IF_ERROR(keys.Need("KEK"));
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
            ", and those that were written with it boot no more once it is revoked: have them ",
            "written with an image that was signed later, and then add --force"));
      lines.push_back(absl::StrCat(
          ShownLabel(entry.label),
          FindSigned(revoked, entry.digest) == nullptr ? " is revoked" : " was revoked before"));
      if (FindSigned(revoked, entry.digest) == nullptr) revoked.push_back(entry);
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
  // First of all what nothing else can tell.
  RETURN_IF_ERROR(keys.Write(kRevokedFile, WriteSigningLedger(revoked)));
  RETURN_IF_ERROR(keys.MakeRevocationAuth(revoked));
  RETURN_IF_ERROR(keys.WriteForNodes(RevokedForNodes(all, revoked)));
  for (const std::string& line : lines) say(line);
  say(absl::StrCat(revocation.folder, "/dbx.auth and ", kNodesFile,
                   " are for the role boot_revocations, by which nodes take them"));
  return absl::OkStatus();
}

absl::StatusOr<std::string> SigningCertificate(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string certificate,
                   sys::RealFileSystem().Read(absl::StrCat(folder, "/db.der")));
  return Sha256Hex(certificate);
}

}  // namespace muster::cli
