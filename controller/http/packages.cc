#include "controller/http/packages.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"

namespace muster::controller {
namespace {

constexpr absl::string_view kSuffix = ".deb";
constexpr absl::string_view kAgentPrefix = "muster-agent_";

absl::StatusOr<std::string> FileSha256(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return ErrnoStatus(errno == 0 ? EIO : errno, absl::StrCat("opening ", path.string()));
  Sha256 digest;
  std::string piece(256 * 1024, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0)
    digest.Update(absl::string_view(piece.data(), static_cast<size_t>(in.gcount())));
  return digest.FinishHex();
}

}  // namespace

bool IsPackageName(absl::string_view name) {
  return name.size() > kSuffix.size() && name.size() <= 255 && absl::EndsWith(name, kSuffix) &&
         absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) ||
                  absl::string_view(".+~_-").find(static_cast<char>(c)) != absl::string_view::npos;
         });
}

absl::StatusOr<std::vector<PackageFile>> ListAgentPackages(const std::string& folder) {
  std::vector<PackageFile> packages;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!IsPackageName(name) || !absl::StartsWith(name, kAgentPrefix) || !entry->is_regular_file())
      continue;
    PackageFile package;
    package.name = name;
    const size_t underscore = name.rfind('_');
    package.architecture =
        name.substr(underscore + 1, name.size() - kSuffix.size() - underscore - 1);
    if (underscore > kAgentPrefix.size())
      package.version = name.substr(kAgentPrefix.size(), underscore - kAgentPrefix.size());
    ASSIGN_OR_RETURN(package.sha256, FileSha256(entry->path()));
    packages.push_back(std::move(package));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return ErrnoStatus(error.value(), absl::StrCat("reading ", folder));
  std::sort(packages.begin(), packages.end(),
            [](const PackageFile& a, const PackageFile& b) { return a.name < b.name; });
  return packages;
}

}  // namespace muster::controller
