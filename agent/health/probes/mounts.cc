// File systems of servers, which hang whoever touches them when the server is gone.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/health/probes/child.h"
#include "agent/health/probes/mounted.h"
#include "agent/health/probes/probe.h"
#include "common/base/status.h"

namespace muster::agent::health {
namespace {

// A look must end while none of them answers.
constexpr size_t kMaxMounts = 16;
// So many looks in a row have to find one of kServerGone. One may be a mount that is just going.
constexpr int kBadLooks = 2;

// How stat ends its message, by strerror(3), where the file system has no server any more: ESTALE,
// EIO, ENOTCONN, EHOSTDOWN, ESHUTDOWN (Lustre, after an eviction) and ETIMEDOUT (a soft mount).
constexpr absl::string_view kServerGone[] = {": Stale file handle",
                                             ": Input/output error",
                                             ": Transport endpoint is not connected",
                                             ": Host is down",
                                             ": Cannot send after transport endpoint shutdown",
                                             ": Connection timed out"};
// Another mount hides this one: nobody uses it.
constexpr absl::string_view kHidden = ": No such file or directory";

bool IsServerGone(absl::string_view said) {
  return std::any_of(std::begin(kServerGone), std::end(kServerGone),
                     [said](absl::string_view end) { return absl::EndsWith(said, end); });
}

// What stat reaches by a path: of mounts that lie on each other, the last. In the order of
// mounting.
std::vector<Mounted> RemoteOnTop(const std::vector<Mounted>& all) {
  std::map<absl::string_view, const Mounted*> tops;
  for (const Mounted& mounted : all) tops[mounted.path] = &mounted;
  std::vector<Mounted> remote;
  for (const Mounted& mounted : all)
    if (IsRemote(mounted) && tops[mounted.path] == &mounted) remote.push_back(mounted);
  return remote;
}

std::string PathOf(const Mounted& mounted) { return mounted.path; }
std::string DeviceOf(const Mounted& mounted) { return mounted.device; }

// "srv" of "srv:/home", "//srv" of "//srv/home". A file system whose source names no server has one
// of its own.
std::string ServerOf(const Mounted& mounted) {
  const absl::string_view source = mounted.source;
  const size_t path = absl::StartsWith(source, "//") ? source.find('/', 2) : source.find(":/");
  return std::string(path == absl::string_view::npos ? mounted.device : source.substr(0, path));
}

// What one mount answers for: itself; where these are too many, its file system, then its server.
using Answered = std::string (*)(const Mounted& mounted);
constexpr Answered kAnswered[] = {PathOf, DeviceOf, ServerOf};

Answered AnsweredByOne(const std::vector<Mounted>& mounts) {
  for (const Answered& answered : kAnswered) {
    std::set<std::string> things;
    for (const Mounted& mounted : mounts) things.insert(answered(mounted));
    if (things.size() <= kMaxMounts) return answered;
  }
  return ServerOf;
}

class MountProbe final : public Probe {
 public:
  explicit MountProbe(const ProbeContext& context)
      : root_(context.root), processes_(*context.processes) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits& limits) override {
    ASSIGN_OR_RETURN(const std::vector<Mounted> all, ReadMounted(root_));
    std::vector<Mounted> remote = RemoteOnTop(all);
    const Answered answered = AnsweredByOne(remote);
    // What was bad would be well if it were not asked again: it comes first.
    std::stable_partition(remote.begin(), remote.end(),
                          [this](const Mounted& mounted) { return WasBad(mounted.path); });
    Findings findings;
    std::set<std::string> paths, asked;
    size_t looks = 0, left_out = 0;
    for (const Mounted& mounted : remote) {
      paths.insert(mounted.path);
      if (asked.count(answered(mounted)) > 0 && !WasBad(mounted.path)) continue;
      if (looks == kMaxMounts) {
        ++left_out;
        if (WasBad(mounted.path))
          findings.Unknown("mount_hung", mounted.path, "it was not asked: too many others are bad");
        continue;
      }
      ++looks;
      if (LookAt(mounted, absl::Seconds(limits.Of("mount_hung.seconds")), findings))
        asked.insert(answered(mounted));
    }
    if (left_out > 0)
      findings.Unknown("mount_hung", "others",
                       absl::StrCat(left_out, " further mounts are not watched: at most ",
                                    kMaxMounts, " are asked"));
    for (auto it = watched_.begin(); it != watched_.end();)
      it = paths.count(it->first) == 0 ? watched_.erase(it) : std::next(it);
    return findings;
  }

  void Restore(const std::string&, const std::string& object) override {
    WatchedAt(object).is_bad = true;
  }

 private:
  struct Watched {
    Child child;
    int bad_looks = 0;    // in a row
    bool is_bad = false;  // until a look has found it well
  };

  Watched& WatchedAt(const std::string& path) {
    return watched_.try_emplace(path, Watched{.child = Child(processes_)}).first->second;
  }

  bool WasBad(const std::string& path) const {
    const auto watched = watched_.find(path);
    return watched != watched_.end() && watched->second.is_bad;
  }

  // It may have been unmounted since the look began, or while stat was on its way.
  bool IsMounted(const std::string& path) const {
    const absl::StatusOr<std::vector<Mounted>> all = ReadMounted(root_);
    return !all.ok() || std::any_of(all->begin(), all->end(), [&path](const Mounted& mounted) {
      return mounted.path == path && IsRemote(mounted);
    });
  }

  // Whether that says something about its file system.
  bool LookAt(const Mounted& mounted, absl::Duration time_limit, Findings& findings) {
    Watched& watched = WatchedAt(mounted.path);
    const int bad_looks = std::exchange(watched.bad_looks, 0);
    // Asks the server, as statfs() does.
    const absl::StatusOr<sys::ProcessResult> asked =
        watched.child.Run({"stat", "--file-system", "--format=%b", "--", mounted.path}, time_limit);
    if (absl::IsDeadlineExceeded(asked.status())) {
      watched.is_bad = true;
      findings.Bad("mount_hung", mounted.path,
                   absl::StrCat(mounted.path, " (", mounted.type, " from ", mounted.source,
                                ") does not answer: is its server running?"));
    } else if (!asked.ok()) {
      findings.Unknown("mount_hung", mounted.path, std::string(asked.status().message()));
    } else if (!asked->ok()) {
      return LookAtFailure(mounted.path, bad_looks, absl::StripAsciiWhitespace(asked->output),
                           watched, findings);
    } else {
      watched.is_bad = false;
    }
    return true;
  }

  // stat has said so. Root may not ask about a mount that needs a user's key (sec=krb5), which
  // says nothing about its server.
  bool LookAtFailure(const std::string& path, int bad_looks, absl::string_view said,
                     Watched& watched, Findings& findings) const {
    if (absl::EndsWith(said, kHidden) || !IsMounted(path)) {
      watched.is_bad = false;
      return false;
    }
    if (IsServerGone(said)) watched.bad_looks = bad_looks + 1;
    if (watched.bad_looks >= kBadLooks) {
      watched.is_bad = true;
      findings.Bad("mount_hung", path, std::string(said));
    } else {
      findings.Unknown("mount_hung", path, std::string(said));
    }
    return true;
  }

  const std::string root_;
  sys::ProcessRunner& processes_;
  std::map<std::string, Watched> watched_;  // by path
};

}  // namespace

std::unique_ptr<Probe> MakeMountProbe(const ProbeContext& context) {
  return std::make_unique<MountProbe>(context);
}

}  // namespace muster::agent::health
