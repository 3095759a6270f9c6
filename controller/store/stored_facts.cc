#include "controller/store/stored_facts.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

// Some hundred kilobytes, and a transaction of a millisecond.
constexpr size_t kNodesAtOnce = 64;

}  // namespace

absl::Status ForEachFacts(
    Store& store, absl::FunctionRef<void(const std::string& name, const std::string& facts)> fn) {
  std::vector<std::pair<std::string, std::string>> nodes;  // name, uuid
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> records, txn.nodes().List());
    for (const NodeRecord& record : records) {
      if (record.state != NodeRecord::kRemoved) nodes.emplace_back(record.name, record.uuid);
    }
    return absl::OkStatus();
  }));
  for (size_t begin = 0; begin < nodes.size(); begin += kNodesAtOnce) {
    const size_t end = std::min(nodes.size(), begin + kNodesAtOnce);
    std::vector<std::string> facts(end - begin);
    RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
      for (size_t i = begin; i < end; ++i) {
        ASSIGN_OR_RETURN(facts[i - begin], txn.nodes().Facts(nodes[i].second));
      }
      return absl::OkStatus();
    }));
    for (size_t i = begin; i < end; ++i) {
      if (!facts[i - begin].empty()) fn(nodes[i].first, facts[i - begin]);
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::controller
