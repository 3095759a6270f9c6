// File systems of servers, which hang whoever touches them when the server is gone.
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/health/probes/child.h"
#include "agent/health/probes/mounted.h"
#include "agent/health/probes/probe.h"
#include "common/base/status.h"

namespace muster::agent::health {
namespace {

constexpr size_t kMaxMounts = 16;

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
    for (auto it = children_.begin(); it != children_.end();)
      it = paths.count(it->first) == 0 ? children_.erase(it) : std::next(it);
    return findings;
  }

 private:
  void LookAt(const Mounted& mounted, absl::Duration time_limit, Findings& findings) {
    Child& child = children_.try_emplace(mounted.path, processes_).first->second;
    // Asks the server, as statfs() does.
    const absl::StatusOr<sys::ProcessResult> asked =
        child.Run({"stat", "--file-system", "--format=%b", "--", mounted.path}, time_limit);
    if (absl::IsDeadlineExceeded(asked.status())) {
      findings.Bad("mount_hung", mounted.path,
                   absl::StrCat(mounted.path, " (", mounted.type, " from ", mounted.source,
                                ") does not answer: is its server running?"));
    } else if (!asked.ok()) {
      findings.Unknown("mount_hung", mounted.path, std::string(asked.status().message()));
    } else if (!asked->ok()) {
      findings.Bad("mount_hung", mounted.path,
                   std::string(absl::StripAsciiWhitespace(asked->output)));
    }
  }

  const std::string root_;
  sys::ProcessRunner& processes_;
  std::map<std::string, Child> children_;  // by path
};

}  // namespace

std::unique_ptr<Probe> MakeMountProbe(const ProbeContext& context) {
  return std::make_unique<MountProbe>(context);
}

}  // namespace muster::agent::health
