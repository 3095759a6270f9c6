#include "controller/validation/earlier_results.h"

#include <cstdint>
#include <utility>

#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "controller/validation/circumstances.h"
#include "controller/validation/result_blob.h"

namespace muster::controller::validation {
namespace {

// That a value is held against, of one check of one node.
constexpr uint32_t kHistoryResults = 12;

}  // namespace

EarlierResults::EarlierResults(Store& store, std::string validation_id)
    : store_(store), validation_id_(std::move(validation_id)) {}

std::vector<double> EarlierResults::Values(const EarlierQuery& query) {
  std::vector<double> values;
  for (const Earlier& earlier : Results({std::string(query.node), std::string(query.check),
                                         std::string(query.parameters_digest)})) {
    const auto circumstances = earlier.circumstances.find(std::string(query.subject));
    if (circumstances == earlier.circumstances.end() ||
        circumstances->second != query.circumstances) {
      continue;
    }
    for (const v1::Metric& metric : earlier.result.metrics()) {
      if (metric.name() == query.metric && metric.variant() == query.variant &&
          metric.subject() == query.subject) {
        values.push_back(metric.value());
      }
    }
  }
  return values;
}

EarlierPass EarlierResults::Newest(const JudgedResult& judged) {
  const std::vector<Earlier>& results =
      Results({std::string(judged.node), std::string(judged.spec->name),
               std::string(judged.parameters_digest)});
  if (results.empty()) return {};
  return {&results.front().result, results.front().reported_at};
}

const std::vector<EarlierResults::Earlier>& EarlierResults::Results(Key key) {
  if (key_ != key) {
    Read(key);
    key_ = std::move(key);
  }
  return results_;
}

void EarlierResults::Read(const Key& key) {
  results_.clear();
  const auto& [node, check, parameters] = key;
  CheckHistoryQuery query = {node, check, parameters, validation_id_, kHistoryResults};
  std::vector<CheckResultRecord> records;
  store_
      .View([&](Transaction& txn) -> absl::Status {
        ASSIGN_OR_RETURN(records, txn.validation_checks().History(query));
        return absl::OkStatus();
      })
      .IgnoreError();  // without a history it says nothing
  for (const CheckResultRecord& record : records) {
    absl::StatusOr<v1::CheckResult> result = UnpackResult(record.result);
    if (!result.ok()) continue;
    result->clear_samples();
    Earlier earlier;
    earlier.circumstances[""] = CircumstancesOf(*result, nullptr);
    for (const v1::Subject& subject : result->subjects()) {
      earlier.circumstances[subject.id()] = CircumstancesOf(*result, &subject);
    }
    earlier.reported_at = record.reported_at;
    earlier.result = *std::move(result);
    results_.push_back(std::move(earlier));
  }
}

}  // namespace muster::controller::validation
