// The reports of agents on their way into the store.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace muster::v1 {
class Report;
}

namespace muster::controller {

class AgentSessions;

// A report from a node.
struct NodeReport {
  std::string uuid;
  std::shared_ptr<const v1::Report> report;  // holds the message in which it came
};

// Passes reports on in batches, and keeps those that the store does not take until it does. They
// are not acknowledged meanwhile, so agents keep them, too. Not thread-safe.
class ReportInbox {
 public:
  // Limits on the reports, from all nodes, that may wait for the store.
  static constexpr size_t kMaxBacklog = 10'000;
  static constexpr size_t kMaxBacklogBytes = size_t{64} << 20;

  // Stores reports together: all of them or, with an error, none.
  using Handle = std::function<absl::Status(absl::Span<const NodeReport>)>;

  // `sessions` must outlive the object.
  ReportInbox(AgentSessions& sessions, Handle handle);

  // Those of one node must come in order. A node whose report is dropped is disconnected.
  void Take(std::vector<NodeReport> reports);
  // Offers the waiting reports again.
  void Retry();
  // The node begins with its first report that was not acknowledged.
  void OnConnected(const std::string& uuid) { must_repeat_.erase(uuid); }

 private:
  // Returns how many were handled.
  size_t HandleInBatches(absl::Span<const NodeReport> reports);

  AgentSessions& sessions_;
  const Handle handle_;
  std::vector<NodeReport> backlog_;
  size_t backlog_bytes_ = 0;  // memory that the reports in it take
  // Nodes whose report was dropped. Nothing more is accepted from them until they reconnect: an
  // acknowledgement covers all reports before it.
  std::set<std::string> must_repeat_;
};

}  // namespace muster::controller
