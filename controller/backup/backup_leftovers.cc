#include "controller/backup/backup_leftovers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace muster::controller {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kPartialMark = ".partial-";
// What mkdtemp() adds to a name.
constexpr size_t kRandomLetters = 6;
// How long a process that removes leftovers is waited for.
constexpr int kShareTries = 50;
constexpr absl::Duration kShareInterval = absl::Milliseconds(100);

bool IsOurs(int folder, const std::string& name, Leftover kind) {
  struct stat within, entry;
  if (fstat(folder, &within) != 0 ||
      fstatat(folder, name.c_str(), &entry, AT_SYMLINK_NOFOLLOW) != 0)
    return false;
  if (kind == Leftover::kPartial)
    return S_ISREG(entry.st_mode) && entry.st_nlink == 1 && entry.st_uid == geteuid();
  // A copy of the store is made in a folder that was given to musterd's account.
  const bool others_write = (within.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return S_ISDIR(entry.st_mode) && (entry.st_uid == geteuid() || !others_write);
}

void Remove(Leftover kind, const std::string& path) {
  std::error_code ignored;
  if (kind == Leftover::kStaging) {
    fs::remove_all(path, ignored);
  } else {
    fs::remove(path, ignored);
  }
}

void RemoveLeftovers(int folder, Leftover kind) {
  const std::string path = absl::StrCat("/proc/self/fd/", folder);
  std::error_code ignored;
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    std::string name = entry.path().filename().string();
    if (IsLeftover(kind, name) && IsOurs(folder, name, kind)) names.insert(std::move(name));
  }
  for (const std::string& name : names) Remove(kind, absl::StrCat(path, "/", name));
}

struct UnfinishedPaths {
  absl::Mutex mutex;
  std::map<std::string, Leftover> paths ABSL_GUARDED_BY(mutex);
};

UnfinishedPaths& AllUnfinished() {
  static UnfinishedPaths& all = *new UnfinishedPaths;
  return all;
}

}  // namespace

std::string PartialName(absl::string_view file) {
  return absl::StrCat(".", file, kPartialMark, getpid());
}

bool IsLeftover(Leftover kind, absl::string_view name) {
  if (kind == Leftover::kStaging)
    return absl::StartsWith(name, kStagingPrefix) &&
           name.size() == absl::string_view(kStagingPrefix).size() + kRandomLetters;
  const size_t mark = name.rfind(kPartialMark);
  if (name.substr(0, 1) != "." || mark == absl::string_view::npos || mark == 0) return false;
  const absl::string_view pid = name.substr(mark + kPartialMark.size());
  return !pid.empty() &&
         std::all_of(pid.begin(), pid.end(), [](char c) { return absl::ascii_isdigit(c); });
}

FolderShare::FolderShare(const std::string& folder, Leftover kind)
    : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!fd_.valid()) return;  // whoever writes there fails, and says so
  if (flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) RemoveLeftovers(fd_.get(), kind);
  for (int i = 0; i < kShareTries; ++i) {
    if (flock(fd_.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    absl::SleepFor(kShareInterval);
  }
}

Unfinished::Unfinished(Leftover kind, std::string path) : kind_(kind), path_(std::move(path)) {
  UnfinishedPaths& all = AllUnfinished();
  absl::MutexLock lock(&all.mutex);
  all.paths.emplace(path_, kind);
}

Unfinished::~Unfinished() {
  if (path_.empty()) return;
  Remove(kind_, path_);
  Keep();
}

void Unfinished::Keep() {
  KeepAtSignal();
  path_.clear();
}

void Unfinished::KeepAtSignal() {
  UnfinishedPaths& all = AllUnfinished();
  absl::MutexLock lock(&all.mutex);
  all.paths.erase(path_);
}

void RemoveUnfinished() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  UnfinishedPaths& all = AllUnfinished();
  all.mutex.Lock();  // to the end of the process
  for (const auto& [path, kind] : all.paths) Remove(kind, path);
}

CleanEnd::CleanEnd() {
  sigemptyset(&signals_);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction now;
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaddset(&signals_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::thread([this] {
    constexpr timespec kLook = {.tv_sec = 0, .tv_nsec = 50'000'000};
    while (!is_over_) {
      const int signal = sigtimedwait(&signals_, nullptr, &kLook);
      if (signal < 0) continue;
      RemoveUnfinished();
      // As if it had not been blocked, so that a shell sees what ended the command.
      ::signal(signal, SIG_DFL);
      pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
      raise(signal);
    }
  });
}

CleanEnd::~CleanEnd() {
  is_over_ = true;
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace muster::controller
