#include "cli/image/signing/signing_keys.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/image/build_tools.h"
#include "cli/image/kernel_image.h"
#include "common/base/digest.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/sys/process/process.h"

namespace muster::cli {
namespace {

// Firmware does not look at the time, and to replace keys in it takes a visit of each machine.
constexpr char kDays[] = "7300";
constexpr size_t kMaxProgramBytes = size_t{2} << 30;
constexpr char kTrustedFolder[] = "trusted";

absl::Status MakeKey(SigningKeys& keys, const std::string& name) {
  RETURN_IF_ERROR(keys.Run({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-sha256",
                            "-keyout", keys.Path(name, "key"), "-out", keys.Path(name, "pem"),
                            "-days", kDays, "-subj", absl::StrCat("/CN=Muster ", name, "/")}));
  return keys.Run({"openssl", "x509", "-in", keys.Path(name, "pem"), "-outform", "der", "-out",
                   keys.Path(name, "der")});
}

// For firmware that has no such variable.
absl::Status MakeKeyAuth(SigningKeys& keys, const std::string& name, const std::string& by,
                         const std::vector<std::string>& certificates) {
  std::string lists;
  for (const std::string& certificate : certificates) {
    ASSIGN_OR_RETURN(const std::string list, keys.ListOf("x509", certificate));
    lists += list;
  }
  return keys.MakeAuth(name, by, lists, {"--attr", SigningKeys::kAttributes});
}

// The paths of all certificates that were to be trusted, these included.
absl::StatusOr<std::vector<std::string>> KeepTrusted(SigningKeys& keys,
                                                     const std::vector<std::string>& named) {
  sys::RealFileSystem files;
  const std::string folder = keys.File(kTrustedFolder);
  RETURN_IF_ERROR(files.MakeDirectory(folder, 0700));
  for (const std::string& path : named) {
    ASSIGN_OR_RETURN(const std::string certificate, files.Read(path));
    RETURN_IF_ERROR(
        keys.Write(absl::StrCat(kTrustedFolder, "/", Sha256Hex(certificate), ".der"), certificate));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(folder));
  std::vector<std::string> paths;
  for (const std::string& name : names)
    if (absl::EndsWith(name, ".der")) paths.push_back(absl::StrCat(folder, "/", name));
  return paths;
}

// Signs `program` into `target`, compares, and writes it into the ledger.
absl::Status SignInto(SigningKeys& keys, const std::string& label, const std::string& program,
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
  SigningKeys keys(recipe.folder, processes);
  for (const std::string name : kSigningKeys) RETURN_IF_ERROR(keys.Has(name).status());
  RETURN_IF_ERROR(CheckSigningTools());
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> there, files.Stat(recipe.folder));
  if (!there.has_value()) RETURN_IF_ERROR(files.MakeDirectory(recipe.folder, 0700));
  for (const std::string name : kSigningKeys) {
    ASSIGN_OR_RETURN(const bool is_there, keys.Has(name));
    if (is_there) continue;
    RETURN_IF_ERROR(MakeKey(keys, name));
    say(absl::StrCat(keys.Path(name, "key"), " is new"));
  }
  ASSIGN_OR_RETURN(std::vector<std::string> trusted, KeepTrusted(keys, recipe.trusted));
  trusted.insert(trusted.begin(), keys.Path("db", "der"));
  RETURN_IF_ERROR(MakeKeyAuth(keys, "db", "KEK", trusted));
  RETURN_IF_ERROR(MakeKeyAuth(keys, "KEK", "PK", {keys.Path("KEK", "der")}));
  RETURN_IF_ERROR(MakeKeyAuth(keys, "PK", "PK", {keys.Path("PK", "der")}));
  say(absl::StrCat(keys.File("{PK,KEK,db}.auth"), " are for firmware in setup mode, which trusts ",
                   trusted.size() == 1 ? "nobody else then"
                                       : absl::StrCat("the certificates in ",
                                                      keys.File(kTrustedFolder), " then, too")));
  if (recipe.loader.empty()) return absl::OkStatus();
  const std::string name = recipe.loader.substr(recipe.loader.rfind('/') + 1);
  const std::string target = keys.File(name);
  RETURN_IF_ERROR(SignProgram(recipe.folder, name, recipe.loader, target, processes));
  say(absl::StrCat(target, " is signed: the role boot_server takes it as boot_server_loader"));
  return absl::OkStatus();
}

absl::Status SignProgram(const std::string& folder, const std::string& label,
                         const std::string& program, const std::string& target,
                         sys::ProcessRunner& processes) {
  RETURN_IF_ERROR(CheckLabel(label));
  SigningKeys keys(folder, processes);
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

absl::StatusOr<std::string> SigningCertificate(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string certificate,
                   sys::RealFileSystem().Read(absl::StrCat(folder, "/db.der")));
  return Sha256Hex(certificate);
}

std::string SigningKeys::File(absl::string_view name) const {
  return absl::StrCat(folder_, "/", name);
}

std::string SigningKeys::Path(absl::string_view name, absl::string_view what) const {
  return File(absl::StrCat(name, ".", what));
}

absl::StatusOr<bool> SigningKeys::Has(const std::string& name) {
  std::string there, missing;
  for (const char* what : {"key", "pem", "der"}) {
    const std::string path = Path(name, what);
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> found, files_.Stat(path));
    (found.has_value() ? there : missing) = path;
  }
  if (missing.empty() || there.empty()) return missing.empty();
  return absl::FailedPreconditionError(
      absl::StrCat(there, " is there, and ", missing,
                   " is not; bring it back, or, if no firmware trusts this key, remove ", there));
}

absl::Status SigningKeys::Need(const std::string& name) {
  ASSIGN_OR_RETURN(const bool is_there, Has(name));
  if (is_there) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(folder_, " has no ", name, ".key, ", name, ".pem and ",
                                          name, ".der; `muster image keys ", folder_,
                                          "` makes them"));
}

absl::Status SigningKeys::Run(std::vector<std::string> argv) {
  sys::ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.timeout = absl::Minutes(2);
  return sys::RunChecked(processes_, spec).status();
}

absl::StatusOr<std::string> SigningKeys::ListOf(const std::string& type, const std::string& entry) {
  // Firmware tells entries apart by their owner, too, and adds none that it has.
  ASSIGN_OR_RETURN(const std::string kek, files_.Read(Path("KEK", "der")));
  const std::string one = File("one.esl");
  RETURN_IF_ERROR(
      Run({"sbsiglist", "--owner", UuidOf(kek), "--type", type, "--output", one, entry}));
  ASSIGN_OR_RETURN(std::string list, files_.Read(one));
  RETURN_IF_ERROR(files_.Remove(one, /*recursive=*/false));
  return list;
}

absl::Status SigningKeys::MakeAuth(const std::string& name, const std::string& by,
                                   const std::string& lists,
                                   const std::vector<std::string>& options) {
  RETURN_IF_ERROR(Write(absl::StrCat(name, ".esl"), lists));
  std::vector<std::string> argv = {"sbvarsign"};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {"--key", Path(by, "key"), "--cert", Path(by, "pem"), "--output",
                           Path(name, "auth"), name, Path(name, "esl")});
  return Run(std::move(argv));
}

absl::Status SigningKeys::Write(absl::string_view file, const std::string& content) {
  return files_.WriteAtomically(File(file), content,
                                {.mode = 0644, .uid = {}, .gid = {}, .verify = {}});
}

absl::StatusOr<SigningLedger> SigningKeys::ReadLedger(absl::string_view file) {
  const std::string path = File(file);
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> found, files_.Stat(path));
  if (!found.has_value()) return SigningLedger();
  ASSIGN_OR_RETURN(const std::string text, files_.Read(path));
  absl::StatusOr<SigningLedger> ledger = ReadSigningLedger(text);
  if (!ledger.ok()) return Annotate(ledger.status(), path);
  return ledger;
}

absl::StatusOr<std::string> SigningKeys::ReadProgram(const std::string& path) {
  return files_.Read(path, kMaxProgramBytes);
}

absl::StatusOr<SignedEntry> SigningKeys::ReadEntry(const std::string& path,
                                                   const std::string& label) {
  RETURN_IF_ERROR(Run({"sbverify", "--cert", Path("db", "pem"), path}));
  ASSIGN_OR_RETURN(const std::string content, ReadProgram(path));
  const absl::StatusOr<SignedProgram> program = ReadSignedProgram(content);
  if (!program.ok()) return Annotate(program.status(), path);
  return SignedEntry{program->digest, program->root, label};
}

}  // namespace muster::cli
