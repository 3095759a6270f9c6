#include "cli/image/module_signer.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

// Linux's scripts/sign-file.c.
constexpr absl::string_view kMagic = "~Module signature appended~\n";
constexpr char kIsCms = 2;            // PKEY_ID_PKCS7
constexpr size_t kTrailerBytes = 12;  // struct module_signature
constexpr size_t kMaxModuleBytes = size_t{512} << 20;

// The modules, in the order of their paths. They are the builder's own files.
absl::StatusOr<std::vector<std::string>> FindModules(const std::string& root) {
  std::string folder = root;
  std::error_code error;
  for (const char* part : {"usr", "lib", "modules"}) {
    absl::StrAppend(&folder, "/", part);
    if (!fs::is_directory(fs::symlink_status(folder, error)))
      return absl::InvalidArgumentError(
          absl::StrCat(folder, " is not a folder, so there are no modules of a kernel to sign"));
  }
  std::vector<std::string> found;
  // It follows no link to a folder.
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string path = it->path().string();
    if (it.depth() == 1 && it->path().filename() == "kernel") it.disable_recursion_pending();
    if (!fs::is_regular_file(it->symlink_status(error))) continue;
    for (const char* packed : {".ko.xz", ".ko.gz", ".ko.zst"}) {
      if (absl::EndsWith(path, packed))
        return absl::InvalidArgumentError(
            absl::StrCat(path.substr(root.size()), " is compressed, so it cannot be signed"));
    }
    if (absl::EndsWith(path, ".ko")) found.push_back(path);
  }
  if (error) return absl::UnavailableError(absl::StrCat("reading ", folder, ": ", error.message()));
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

absl::StatusOr<std::string> WithoutSignature(absl::string_view module) {
  if (!absl::ConsumeSuffix(&module, kMagic)) return std::string(module);
  const absl::Status wrong = absl::InvalidArgumentError("its signature is damaged");
  if (module.size() < kTrailerBytes) return wrong;
  uint64_t bytes = 0;
  for (const char c : module.substr(module.size() - 4))
    bytes = bytes << 8U | static_cast<unsigned char>(c);
  module.remove_suffix(kTrailerBytes);
  if (bytes > module.size()) return wrong;
  module.remove_suffix(bytes);
  return std::string(module);
}

std::string AppendSignature(absl::string_view module, absl::string_view signature) {
  std::string text = absl::StrCat(module, signature);
  // struct module_signature: two bytes of algorithms that CMS names itself, its kind, two lengths
  // that CMS does not need, three bytes of padding, and the length, the highest byte first.
  text.append({0, 0, kIsCms, 0, 0, 0, 0, 0});
  for (const int shift : {24, 16, 8, 0})
    text += static_cast<char>(signature.size() >> static_cast<unsigned>(shift));
  return absl::StrCat(text, kMagic);
}

absl::StatusOr<std::vector<std::string>> SignModules(const std::string& root,
                                                     const std::string& keys,
                                                     const std::string& scratch,
                                                     sys::ProcessRunner& processes) {
  ASSIGN_OR_RETURN(const std::vector<std::string> modules, FindModules(root));
  sys::RealFileSystem files;
  std::vector<std::string> changed;
  for (const std::string& path : modules) {
    const std::string in_root = path.substr(root.size());
    ASSIGN_OR_RETURN(const std::string found, files.Read(path, kMaxModuleBytes));
    const absl::StatusOr<std::string> module = WithoutSignature(found);
    RETURN_IF_ERROR(Annotate(module.status(), in_root));
    const std::string bare = absl::StrCat(scratch, "/module"), target = scratch + "/signature";
    RETURN_IF_ERROR(files.WriteAtomically(bare, *module, {}));
    sys::ProcessSpec spec;
    spec.argv = {
        "openssl",  "cms",     "-sign",          "-binary", "-noattr",        "-nocerts", "-md",
        "sha256",   "-signer", keys + "/db.pem", "-inkey",  keys + "/db.key", "-in",      bare,
        "-outform", "DER",     "-out",           target};
    RETURN_IF_ERROR(sys::RunChecked(processes, spec).status());
    ASSIGN_OR_RETURN(const std::string signature, files.Read(target));
    for (const std::string& each : {bare, target})
      RETURN_IF_ERROR(files.Remove(each, /*recursive=*/false));
    RETURN_IF_ERROR(files.WriteAtomically(path, AppendSignature(*module, signature), {}));
    changed.push_back(in_root);
  }
  return changed;
}

}  // namespace muster::cli
