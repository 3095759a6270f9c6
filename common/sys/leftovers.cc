#include "common/sys/leftovers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/id.h"

namespace muster::sys {
namespace {

constexpr absl::string_view kMark = ".muster";
constexpr size_t kIdLength = 9;  // of NewShortId(): a dash and eight characters

constexpr int kMaxNames = 10'000;

bool IsTemporaryName(absl::string_view file) {
  const size_t mark = file.rfind(kMark);
  return absl::StartsWith(file, ".") && mark != absl::string_view::npos && mark > 1 &&
         file.size() == mark + kMark.size() + kIdLength && file[mark + kMark.size()] == '-';
}

bool IsTemporaryNameOf(absl::string_view file, absl::string_view name) {
  return absl::ConsumePrefix(&file, ".") && absl::ConsumePrefix(&file, name) &&
         absl::ConsumePrefix(&file, kMark) && file.size() == kIdLength && file[0] == '-';
}

template <typename IsMeant>
void RemoveMeant(const Folder& folder, absl::Time time, const IsMeant& is_meant) {
  int left = kMaxNames;
  const auto look = [&](const char* entry) {
    if (!is_meant(entry)) return --left > 0;
    struct stat found = {};
    if (folder.Stat(entry, &found) && !S_ISDIR(found.st_mode) &&
        (IsOurs(found.st_uid) || found.st_uid == folder.owner()) &&
        absl::TimeFromTimespec(found.st_ctim) < time)
      folder.AsOwner([&] { return ::unlinkat(folder.fd(), entry, 0); });
    return --left > 0;
  };
  folder.ForEachName(look, "").IgnoreError();
}

}  // namespace

std::string TemporaryName(absl::string_view name) {
  return absl::StrCat(".", name, NewShortId(kMark));
}

void RemoveLeftovers(const Folder& folder, absl::string_view name, absl::Time time) {
  RemoveMeant(folder, time, [&](const char* entry) { return IsTemporaryNameOf(entry, name); });
}

void RemoveAllLeftovers(const Folder& folder, absl::Time time) {
  RemoveMeant(folder, time, [](const char* entry) { return IsTemporaryName(entry); });
}

absl::Time FirstWrite() {
  // File systems stamp with the coarse clock: the fine one may be a few milliseconds ahead.
  static const absl::Time time = [] {
    timespec now = {};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return absl::TimeFromTimespec(now);
  }();
  return time;
}

}  // namespace muster::sys
