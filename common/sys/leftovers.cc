#include "common/sys/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/id.h"

namespace muster::sys {
namespace {

constexpr absl::string_view kMark = ".muster";
constexpr size_t kIdLength = 9;  // of NewShortId(): a dash and eight characters

absl::string_view NameOf(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsTemporaryNameOf(absl::string_view file, absl::string_view name) {
  return absl::ConsumePrefix(&file, ".") && absl::ConsumePrefix(&file, name) &&
         absl::ConsumePrefix(&file, kMark) && file.size() == kIdLength && file[0] == '-';
}

}  // namespace

std::string FolderOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

std::string TemporaryName(absl::string_view path) {
  return absl::StrCat(FolderOf(path), "/.", NameOf(path), NewShortId(kMark));
}

void RemoveLeftovers(absl::string_view path, absl::Time time) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(FolderOf(path).c_str()), ::closedir);
  if (folder == nullptr) return;
  const int fd = ::dirfd(folder.get());
  while (const dirent* entry = ::readdir(folder.get())) {
    if (!IsTemporaryNameOf(entry->d_name, NameOf(path))) continue;
    struct stat found = {};
    if (::fstatat(fd, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(found.st_mode) || absl::TimeFromTimespec(found.st_ctim) >= time) continue;
    ::unlinkat(fd, entry->d_name, 0);
  }
}

absl::Time FirstWrite() {
  // The coarse clock is what file systems stamp with: the fine one may be a few milliseconds ahead.
  static const absl::Time time = [] {
    timespec now = {};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return absl::TimeFromTimespec(now);
  }();
  return time;
}

}  // namespace muster::sys
