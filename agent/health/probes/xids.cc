// Xids as the driver tells them to a process of its own, for nodes whose kernel's log cannot be
// read.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/health/probes/child.h"
#include "agent/health/probes/probe.h"
#include "agent/health/xid_inbox.h"

namespace muster::agent::health {
namespace {

// An Xid that comes between two of its processes, which follow each other at once, is not told.
constexpr absl::Duration kListens = absl::Minutes(10);
constexpr absl::Duration kPatience = absl::Minutes(1);
// Where the driver tells nothing, only every so many looks try again.
constexpr int kIdleLooks = 10;

class XidProbe final : public Probe {
 public:
  XidProbe(const ProbeContext& context, std::shared_ptr<XidInbox> inbox)
      : context_(context), inbox_(std::move(inbox)), child_(*context.processes) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits&) override {
    if (is_refused_ && ++idle_looks_ % kIdleLooks != 0) return Findings();
    const absl::StatusOr<sys::ProcessResult> heard = child_.Listen(
        {context_.burnin, "xids", "--seconds", absl::StrCat(absl::ToInt64Seconds(kListens))},
        kListens + kPatience, [this](absl::string_view line) {
          if (absl::StartsWith(line, "listening to ")) inbox_->SetListening(true);
          if (absl::StartsWith(line, "NVRM: ")) inbox_->Add(line);
        });
    is_refused_ = !heard.ok() || !heard->ok();
    if (is_refused_) inbox_->SetListening(false);
    if (!heard.ok()) return heard.status();
    return Findings();
  }

 private:
  const ProbeContext context_;
  const std::shared_ptr<XidInbox> inbox_;
  Child child_;
  bool is_refused_ = false;  // at the last try
  int idle_looks_ = 0;       // since then
};

}  // namespace

ProbeSpec MakeXidProbe(const ProbeContext& context, std::shared_ptr<XidInbox> inbox) {
  return {.name = "xids",
          .conditions = {},
          .interval = absl::Minutes(1),
          .time_limit = kListens + 2 * kPatience,
          .probe = std::make_shared<XidProbe>(context, std::move(inbox))};
}

}  // namespace muster::agent::health
