// The contents of a step's report: bounded, and silent about secrets. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/resources/resource.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {

inline constexpr size_t kMaxOutputBytes = size_t{64} << 10;
inline constexpr size_t kMaxDiffBytes = size_t{64} << 10;
inline constexpr size_t kMaxReasonBytes = 1000;  // of a reboot

// The changes for the report: values of sensitive steps are "[secret]", diffs are bounded.
std::vector<v1::Change> ReportedChanges(const v1::Step& step, const std::vector<Change>& changes,
                                        bool want_diff);

// Why the step failed. For sensitive steps whose programs could have printed a secret into the
// error, it says only that the step failed.
std::string ReportedError(const v1::Step& step, const absl::Status& status);

// "resource[x] did not converge; left: mode 0644 -> 0600".
absl::Status NotConverged(const v1::Step& step, const Resource& resource,
                          const std::vector<Change>& left);

// For a step that the plan file predicts as unchanged: what it would change nevertheless, and what
// to do.
absl::Status NotAsPlanned(const v1::Step& step, const Resource& resource,
                          const std::vector<Change>& found);

// The resource of the step; a command that holds a secret is left out.
std::string ReportedResource(const v1::Step& step, const Resource& resource);

// The end of a growing text: at most kMaxOutputBytes, cut at a line if there is one.
class OutputTail {
 public:
  void Append(absl::string_view text);
  std::string Take();

 private:
  std::string text_;
  bool cut_ = false;
};

}  // namespace muster::agent
