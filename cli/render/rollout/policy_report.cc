#include "cli/render/rollout/policy_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "cli/render/output.h"
#include "common/base/proto_time.h"
#include "common/base/text/plain_text.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {
namespace {

struct PolicyWord {
  v1::UpdatePolicyState state;
  absl::string_view word;
};
constexpr PolicyWord kWords[] = {
    {v1::UPDATE_POLICY_STATE_UP_TO_DATE, "up to date"},
    {v1::UPDATE_POLICY_STATE_PENDING, "pending"},
    {v1::UPDATE_POLICY_STATE_WAITING, "waiting"},
    {v1::UPDATE_POLICY_STATE_RUNNING, "running"},
    {v1::UPDATE_POLICY_STATE_STOPPED, "stopped"},
};

absl::string_view WordFor(v1::UpdatePolicyState state) {
  for (const PolicyWord& row : kWords) {
    if (row.state == state) return row.word;
  }
  return "?";
}

// "in 3h 10m", "open"; "" without windows.
std::string NextWindow(const v1::UpdatePolicy& policy, absl::Time now) {
  if (policy.has_next_window()) return HumanTime(ToTime(policy.next_window()), now);
  return policy.request().windows().empty() ? "" : "open";
}

}  // namespace

std::string RenderPolicies(const v1::ListUpdatePoliciesResponse& response, absl::Time now) {
  if (response.policies().empty()) return "";
  Table table({"POLICY", "STATE", "PLAYBOOK", "NODES", "ROLLOUT", "WINDOW", "MESSAGE"});
  for (const v1::UpdatePolicy& policy : response.policies()) {
    const std::string& limit = policy.request().limit();
    table.AddRow({policy.name(), std::string(WordFor(policy.state())), policy.request().playbook(),
                  limit.empty() ? "all workers" : limit, policy.rollout_id(),
                  NextWindow(policy, now), PlainText(policy.message(), Lines::kOne)});
  }
  return table.ToString();
}

std::string RenderPolicyLines(const v1::ListUpdatePoliciesResponse& response, absl::Time now) {
  std::string text;
  for (const v1::UpdatePolicy& policy : response.policies()) {
    const std::string window = NextWindow(policy, now);
    absl::StrAppend(&text, absl::StrFormat("%-12s", text.empty() ? "policies" : ""), policy.name(),
                    ": ", WordFor(policy.state()),
                    window.empty() ? "" : absl::StrCat(", window ", window), ": ",
                    PlainText(policy.message(), Lines::kOne), "\n");
  }
  return text;
}

}  // namespace muster::cli
