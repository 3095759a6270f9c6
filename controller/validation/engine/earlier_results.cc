#include "controller/validation/engine/earlier_results.h"

#include <cstdint>
#include <utility>

#include <google/protobuf/arena.h>

#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "controller/validation/verdict/circumstances.h"
#include "controller/validation/verdict/result_blob.h"

namespace muster::controller::validation {
namespace {

// Results that a value is compared with, of one check of one node.
constexpr uint32_t kHistoryResults = 12;
// Results that represent the node's first state: as many as make a history.
constexpr uint32_t kFirstResults = 5;

// Usually enough for all results of one check of one node; more is allocated when needed.
constexpr size_t kBlockBytes = size_t{256} << 10;

// The query for a window.
struct WindowQuery {
  uint32_t limit;
  uint32_t skip;
  bool oldest_first;
};
constexpr WindowQuery kWindowQueries[] = {
    {kHistoryResults, 0, false},
    {kFirstResults, 0, true},
    {kFirstResults, 60 - kFirstResults, false},
    {kFirstResults, 30 - kFirstResults, false},
};

// "": the result has no such part.
std::string CircumstancesIn(const v1::CheckResult& result, absl::string_view subject) {
  if (subject.empty()) return CircumstancesOf(result, nullptr);
  for (const v1::Subject& part : result.subjects()) {
    if (part.id() == subject) return CircumstancesOf(result, &part);
  }
  return "";
}

}  // namespace

EarlierResults::EarlierResults(Store& store, std::string validation_id)
    : store_(store), validation_id_(std::move(validation_id)), block_(kBlockBytes) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block_.data();
  options.initial_block_size = block_.size();
  arena_ = std::make_unique<google::protobuf::Arena>(options);
}

EarlierResults::~EarlierResults() = default;

std::vector<double> EarlierResults::Values(const EarlierQuery& query) {
  const Key key = {std::string(query.node), std::string(query.check),
                   std::string(query.parameters_digest)};
  if (!query.first) return ValuesOf(Results(key, kNewest), query);
  for (const Window window : {kOldest, kLongAgo, kSomeTimeAgo}) {
    std::vector<double> values = ValuesOf(Results(key, window), query);
    if (values.size() >= kFirstResults) return values;
  }
  return {};
}

std::vector<double> EarlierResults::ValuesOf(std::vector<Earlier>& results,
                                             const EarlierQuery& query) {
  std::vector<double> values;
  for (Earlier& earlier : results) {
    const auto [circumstances, is_new] = earlier.circumstances.try_emplace(query.subject);
    if (is_new) circumstances->second = CircumstancesIn(*earlier.result, query.subject);
    if (circumstances->second != query.circumstances) continue;
    const auto& metrics = earlier.result->metrics();
    for (int i = 0; i < metrics.size(); ++i) {
      const int at = (earlier.next_metric + i) % metrics.size();
      const v1::Metric& metric = metrics[at];
      if (metric.name() != query.metric || metric.variant() != query.variant ||
          metric.subject() != query.subject) {
        continue;
      }
      values.push_back(metric.value());
      earlier.next_metric = at + 1;
      break;
    }
  }
  return values;
}

EarlierPass EarlierResults::Newest(const Measurement& measurement) {
  const std::vector<Earlier>& results =
      Results({std::string(measurement.node), std::string(measurement.spec->name),
               std::string(measurement.parameters_digest)},
              kNewest);
  if (results.empty()) return {};
  return {results.front().result, results.front().reported_at};
}

std::vector<EarlierResults::Earlier>& EarlierResults::Results(const Key& key, Window window) {
  if (key_ != key) {
    for (std::optional<std::vector<Earlier>>& results : results_) results.reset();
    arena_->Reset();
    key_ = key;
  }
  std::optional<std::vector<Earlier>>& results = results_[window];
  if (!results.has_value()) results = Read(key, window);
  return *results;
}

std::vector<EarlierResults::Earlier> EarlierResults::Read(const Key& key, Window window) {
  const auto& [node, check, parameters] = key;
  const WindowQuery& of_window = kWindowQueries[window];
  const CheckHistoryQuery query = {node,
                                   check,
                                   parameters,
                                   validation_id_,
                                   of_window.limit,
                                   of_window.skip,
                                   of_window.oldest_first};
  std::vector<CheckResultRecord> records;
  store_
      .View([&](Transaction& txn) -> absl::Status {
        ASSIGN_OR_RETURN(records, txn.validation_checks().History(query));
        return absl::OkStatus();
      })
      .IgnoreError();  // without a history there is nothing to compare
  std::vector<Earlier> results;
  for (const CheckResultRecord& record : records) {
    auto* const result = google::protobuf::Arena::CreateMessage<v1::CheckResult>(arena_.get());
    if (!unpacker_.Unpack(record.result, result).ok()) continue;
    result->clear_samples();
    Earlier earlier;
    earlier.reported_at = record.reported_at;
    earlier.result = result;
    results.push_back(std::move(earlier));
  }
  return results;
}

}  // namespace muster::controller::validation
