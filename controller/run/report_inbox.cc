#include "controller/run/report_inbox.h"

#include <algorithm>
#include <utility>

#include "controller/session/agent_sessions.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {
namespace {

// The number of reports that share a transaction. It then takes some milliseconds, of which its
// sync to disk is a small part.
constexpr size_t kMaxTogether = 512;

}  // namespace

ReportInbox::ReportInbox(AgentSessions& sessions, Handle handle)
    : sessions_(sessions), handle_(std::move(handle)) {}

void ReportInbox::Take(std::vector<NodeReport> reports) {
  reports.erase(
      std::remove_if(reports.begin(), reports.end(),
                     [&](const NodeReport& each) { return must_repeat_.count(each.uuid) > 0; }),
      reports.end());
  const size_t done = backlog_.empty() ? HandleInBatches(reports) : 0;
  for (size_t i = done; i < reports.size(); ++i) {
    NodeReport& report = reports[i];
    if (must_repeat_.count(report.uuid) > 0) continue;
    const size_t bytes = report.report->SpaceUsedLong();
    if (backlog_.size() < kMaxBacklog && backlog_bytes_ + bytes <= kMaxBacklogBytes) {
      backlog_bytes_ += bytes;
      // A copy, without the other reports of its message, which are not counted.
      backlog_.push_back({report.uuid, std::make_shared<const v1::Report>(*report.report)});
    } else {
      must_repeat_.insert(report.uuid);
      sessions_.Disconnect(report.uuid, absl::UnavailableError(
                                            "the controller's store currently accepts no reports"));
    }
  }
}

size_t ReportInbox::HandleInBatches(absl::Span<const NodeReport> reports) {
  size_t done = 0;
  while (done < reports.size()) {
    const auto together = reports.subspan(done, kMaxTogether);
    if (!handle_(together).ok()) {
      // If one of them cannot be stored, those before it are.
      while (handle_(reports.subspan(done, 1)).ok() && ++done < reports.size()) continue;
      return done;
    }
    done += together.size();
  }
  return done;
}

void ReportInbox::Retry() {
  const size_t done = HandleInBatches(backlog_);
  for (size_t i = 0; i < done; ++i) backlog_bytes_ -= backlog_[i].report->SpaceUsedLong();
  backlog_.erase(backlog_.begin(), backlog_.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace muster::controller
