#include "cli/image/signing/module_signer.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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

// How DKMS compresses modules where the kernel's own are compressed. `pack` replaces a file by its
// compressed form, named with the suffix; `unpack` does the reverse. One thread makes the same
// bytes on every machine; the kernel reads no other check of xz.
struct Packing {
  const char* suffix;
  const char* pack;
  const char* unpack;
};
constexpr Packing kPackings[] = {
    {".xz", "xz -T1 --check=crc32 --lzma2=dict=1MiB", "xz -d"},
    {".zst", "zstd -q -T1 --rm", "zstd -q -d --rm"},
    {".gz", "gzip -n", "gzip -d"},
};

// nullptr: it is not compressed.
const Packing* PackingOf(const std::string& path) {
  for (const Packing& packing : kPackings) {
    if (absl::EndsWith(path, packing.suffix)) return &packing;
  }
  return nullptr;
}

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
    const Packing* packing = PackingOf(path);
    const absl::string_view plain =
        absl::StripSuffix(path, packing == nullptr ? "" : packing->suffix);
    if (absl::EndsWith(plain, ".ko")) found.push_back(path);
  }
  if (error) return absl::UnavailableError(absl::StrCat("reading ", folder, ": ", error.message()));
  std::sort(found.begin(), found.end());
  return found;
}

// Signs one module, whose content is `found`, through temporary files.
class ModuleSigner {
 public:
  ModuleSigner(const std::string& keys, const std::string& scratch, sys::ProcessRunner& processes)
      : keys_(keys),
        bare_(scratch + "/module"),
        target_(scratch + "/signature"),
        processes_(processes) {}

  absl::StatusOr<std::string> Sign(std::string found, const Packing* packing) {
    if (packing != nullptr) {
      ASSIGN_OR_RETURN(found, Exchange(found, packing->unpack, bare_ + packing->suffix, bare_));
    }
    ASSIGN_OR_RETURN(const std::string module, WithoutSignature(found));
    ASSIGN_OR_RETURN(const std::string signature, SignatureOf(module));
    std::string text = AppendSignature(module, signature);
    if (packing == nullptr) return text;
    return Exchange(text, packing->pack, bare_, bare_ + packing->suffix);
  }

 private:
  // What `program` makes of `content`: of the file `from` it makes the file `to`.
  absl::StatusOr<std::string> Exchange(const std::string& content, absl::string_view program,
                                       const std::string& from, const std::string& to) {
    RETURN_IF_ERROR(files_.WriteAtomically(from, content, {}));
    sys::ProcessSpec spec;
    spec.argv = absl::StrSplit(program, ' ');
    spec.argv.push_back(from);
    RETURN_IF_ERROR(sys::RunChecked(processes_, spec).status());
    ASSIGN_OR_RETURN(std::string made, files_.Read(to, kMaxModuleBytes));
    RETURN_IF_ERROR(files_.Remove(to, /*recursive=*/false));
    return made;
  }

  absl::StatusOr<std::string> SignatureOf(const std::string& module) {
    RETURN_IF_ERROR(files_.WriteAtomically(bare_, module, {}));
    sys::ProcessSpec spec;
    spec.argv = {"openssl",  "cms",
                 "-sign",    "-binary",
                 "-noattr",  "-nocerts",
                 "-md",      "sha256",
                 "-signer",  keys_ + "/db.pem",
                 "-inkey",   keys_ + "/db.key",
                 "-in",      bare_,
                 "-outform", "DER",
                 "-out",     target_};
    RETURN_IF_ERROR(sys::RunChecked(processes_, spec).status());
    ASSIGN_OR_RETURN(std::string signature, files_.Read(target_));
    for (const std::string& each : {bare_, target_})
      RETURN_IF_ERROR(files_.Remove(each, /*recursive=*/false));
    return signature;
  }

  const std::string keys_, bare_, target_;
  sys::ProcessRunner& processes_;
  sys::RealFileSystem files_;
};

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
  ModuleSigner signer(keys, scratch, processes);
  std::vector<std::string> changed;
  for (const std::string& path : modules) {
    const std::string in_root = path.substr(root.size());
    ASSIGN_OR_RETURN(const std::string found, files.Read(path, kMaxModuleBytes));
    const absl::StatusOr<std::string> module = signer.Sign(found, PackingOf(path));
    RETURN_IF_ERROR(Annotate(module.status(), in_root));
    RETURN_IF_ERROR(files.WriteAtomically(path, *module, {}));
    changed.push_back(in_root);
  }
  return changed;
}

}  // namespace muster::cli
