#include "agent/disk/signed_files.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/http/http_client.h"
#include "common/sys/large_file.h"

namespace muster::agent::disk {
namespace {

constexpr int kAttempts = 10;
constexpr absl::Duration kAttemptPause = absl::Seconds(5);

}  // namespace

absl::StatusOr<std::string> SignedFiles::Fetch(const std::string& path, const std::string& sha256,
                                               uint64_t bytes) {
  if (!absl::StartsWith(path, "/") || !IsSha256(sha256))
    return absl::InvalidArgumentError("the controller's order names no file for the disk");
  RETURN_IF_ERROR(means_.files.MakeDirectory(means_.folder, 0700));
  const std::string url = means_.server + path;
  std::string file = absl::StrCat(means_.folder, "/", sha256);
  for (int again = 1;; ++again) {
    const absl::Status fetched = means_.http.Fetch({.url = url, .path = file, .max_bytes = bytes});
    if (fetched.ok()) break;
    if (!absl::IsUnavailable(fetched) || again == kAttempts) return fetched;
    means_.clock.Sleep(kAttemptPause);
  }
  ASSIGN_OR_RETURN(const std::string found, sys::Sha256OfFile(file));
  if (found == sha256) return file;
  return absl::DataLossError(
      absl::StrCat(url, " has the digest ", found, ", but is to have ", sha256));
}

}  // namespace muster::agent::disk
