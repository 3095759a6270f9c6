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

class MountProbe final : public Probe {
 public:
  explicit MountProbe(const ProbeContext& context)
      : root_(context.root), processes_(*context.processes) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits& limits) override {
    ASSIGN_OR_RETURN(const std::vector<Mounted> all, ReadMounted(root_));
    Findings findings;
    std::set<std::string> paths;
    for (const Mounted& mounted : all) {
      if (!IsRemote(mounted) || paths.size() >= kMaxMounts || !paths.insert(mounted.path).second)
        continue;
      LookAt(mounted, absl::Seconds(limits.Of("mount_hung.seconds")), findings);
    }
    for (auto it = watched_.begin(); it != watched_.end();)
      it = paths.count(it->first) == 0 ? watched_.erase(it) : std::next(it);
    return findings;
  }

 private:
  struct Watched {
    Child child;
    int bad_looks = 0;  // in a row
  };

  // It may have been unmounted since the look began, or while stat was on its way.
  bool IsMounted(const std::string& path) const {
    const absl::StatusOr<std::vector<Mounted>> all = ReadMounted(root_);
    return !all.ok() || std::any_of(all->begin(), all->end(), [&path](const Mounted& mounted) {
      return mounted.path == path && IsRemote(mounted);
    });
  }

  void LookAt(const Mounted& mounted, absl::Duration time_limit, Findings& findings) {
    Watched& watched =
        watched_.try_emplace(mounted.path, Watched{.child = Child(processes_)}).first->second;
    const int bad_looks = std::exchange(watched.bad_looks, 0);
    // Asks the server, as statfs() does.
    const absl::StatusOr<sys::ProcessResult> asked =
        watched.child.Run({"stat", "--file-system", "--format=%b", "--", mounted.path}, time_limit);
    if (absl::IsDeadlineExceeded(asked.status())) {
      findings.Bad("mount_hung", mounted.path,
                   absl::StrCat(mounted.path, " (", mounted.type, " from ", mounted.source,
                                ") does not answer: is its server running?"));
    } else if (!asked.ok()) {
      findings.Unknown("mount_hung", mounted.path, std::string(asked.status().message()));
    } else if (!asked->ok()) {
      LookAtFailure(mounted.path, bad_looks, absl::StripAsciiWhitespace(asked->output), watched,
                    findings);
    }
  }

  // stat has said so. Root may not ask about a mount that needs a user's key (sec=krb5), which
  // says nothing about its server.
  void LookAtFailure(const std::string& path, int bad_looks, absl::string_view said,
                     Watched& watched, Findings& findings) const {
    if (absl::EndsWith(said, kHidden) || !IsMounted(path)) return;
    if (IsServerGone(said)) watched.bad_looks = bad_looks + 1;
    if (watched.bad_looks >= kBadLooks) {
      findings.Bad("mount_hung", path, std::string(said));
    } else {
      findings.Unknown("mount_hung", path, std::string(said));
    }
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
