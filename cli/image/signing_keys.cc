#include "cli/image/signing_keys.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/image/build_tools.h"
#include "common/base/digest.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::cli {
namespace {

// Firmware does not look at the time, and to replace keys in it takes a visit of each machine.
constexpr char kDays[] = "7300";

class Keys {
 public:
  Keys(const std::string& folder, sys::ProcessRunner& processes)
      : folder_(folder), processes_(processes) {}

  std::string Path(absl::string_view name, absl::string_view what) const {
    return absl::StrCat(folder_, "/", name, ".", what);
  }
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
  // A list of certificates as firmware keeps them, signed by the key that may change it.
  absl::Status MakeAuth(const std::string& name, const std::string& by,
                        const std::vector<std::string>& certificates) {
    std::string lists;
    for (const std::string& certificate : certificates) {
      RETURN_IF_ERROR(Run({"sbsiglist", "--owner", owner_, "--type", "x509", "--output",
                           Path(name, "one"), certificate}));
      ASSIGN_OR_RETURN(const std::string list, files_.Read(Path(name, "one")));
      lists += list;
    }
    RETURN_IF_ERROR(files_.Remove(Path(name, "one"), /*recursive=*/false));
    RETURN_IF_ERROR(files_.WriteAtomically(Path(name, "esl"), lists,
                                           {.mode = 0644, .uid = {}, .gid = {}, .verify = {}}));
    // By default it signs for a variable that is added to, which is none that firmware is given.
    return Run({"sbvarsign", "--attr",
                "NON_VOLATILE,BOOTSERVICE_ACCESS,RUNTIME_ACCESS,"
                "TIME_BASED_AUTHENTICATED_WRITE_ACCESS",
                "--key", Path(by, "key"), "--cert", Path(by, "pem"), "--output", Path(name, "auth"),
                name, Path(name, "esl")});
  }

 private:
  const std::string folder_;
  const std::string owner_ = NewUuid();
  sys::ProcessRunner& processes_;
  sys::RealFileSystem files_;
};

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
  std::vector<std::string> trusted = {keys.Path("db", "der")};
  trusted.insert(trusted.end(), recipe.trusted.begin(), recipe.trusted.end());
  RETURN_IF_ERROR(keys.MakeAuth("db", "KEK", trusted));
  RETURN_IF_ERROR(keys.MakeAuth("KEK", "PK", {keys.Path("KEK", "der")}));
  RETURN_IF_ERROR(keys.MakeAuth("PK", "PK", {keys.Path("PK", "der")}));
  say(absl::StrCat(
      recipe.folder, "/{PK,KEK,db}.auth are for firmware in setup mode, which trusts ",
      trusted.size() == 1 ? "nobody else then" : "the certificates that you named, too"));
  if (recipe.loader.empty()) return absl::OkStatus();
  const std::string name = recipe.loader.substr(recipe.loader.rfind('/') + 1);
  const std::string target = absl::StrCat(recipe.folder, "/", name);
  RETURN_IF_ERROR(SignProgram(recipe.folder, recipe.loader, target, processes));
  say(absl::StrCat(target, " is signed: the role boot_server takes it as boot_server_loader"));
  return absl::OkStatus();
}

absl::Status SignProgram(const std::string& folder, const std::string& program,
                         const std::string& target, sys::ProcessRunner& processes) {
  Keys keys(folder, processes);
  ASSIGN_OR_RETURN(const bool is_there, keys.Has("db"));
  if (!is_there)
    return absl::NotFoundError(absl::StrCat(
        folder, " has no db.key, db.pem and db.der; `muster image keys ", folder, "` makes them"));
  RETURN_IF_ERROR(keys.Run({"sbsign", "--key", keys.Path("db", "key"), "--cert",
                            keys.Path("db", "pem"), "--output", target, program}));
  return keys.Run({"sbverify", "--cert", keys.Path("db", "pem"), target});
}

absl::StatusOr<std::string> SigningCertificate(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string certificate,
                   sys::RealFileSystem().Read(absl::StrCat(folder, "/db.der")));
  return Sha256Hex(certificate);
}

}  // namespace muster::cli
