#include "controller/probation.h"

#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "controller/audit/audit.h"
#include "controller/store/store.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxNotice = size_t{64} << 10;
constexpr size_t kMaxReason = 1000;

}  // namespace

bool Probation::IsOn() const {
  // A folder that cannot be looked at is trouble of its own; staying shut is the safe side of it.
  return access((folder_ + "/probation").c_str(), F_OK) == 0 || errno != ENOENT;
}

absl::Status Probation::NoteOutcome(Store& store, absl::Time now) const {
  sys::RealFileSystem files;
  const std::string path = folder_ + "/update";
  const absl::StatusOr<std::string> text = files.Read(path, kMaxNotice);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  RETURN_IF_ERROR(text.status());
  const std::pair<std::string, std::string> lines = absl::StrSplit(*text, absl::MaxSplits('\n', 1));
  const std::vector<std::string> words = absl::StrSplit(lines.first, ' ');
  if (words.size() == 3) {
    const bool is_done = words[0] == "done";
    const std::string detail =
        is_done ? absl::StrCat("from ", words[1])
                : absl::StrCat(words[1], " is back with its store: ",
                               absl::StripAsciiWhitespace(lines.second).substr(0, kMaxReason));
    RETURN_IF_ERROR(store.Update([&](Transaction& txn) {
      return Audit(txn, now, ControllerActor(),
                   is_done ? "controller.update" : "controller.update_failed", words[2], detail);
    }));
  }
  return files.Remove(path, /*recursive=*/false);
}

}  // namespace muster::controller
