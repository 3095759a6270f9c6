#include "controller/validation/engine/good_results.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "controller/validation/verdict/hardware_class.h"
#include "controller/validation/verdict/population.h"
#include "controller/validation/verdict/result_blob.h"

namespace muster::controller::validation {
namespace {

// Results read under one lock of the store: a result has some hundred kilobytes at most, usually a
// few.
constexpr uint32_t kPage = 64;
constexpr double kMbitsInGbit = 1000;

// The inventory's network ports, by node; "": not known.
class Ports {
 public:
  explicit Ports(const Inventory& inventory) : inventory_(inventory) {}

  struct Port {
    std::string name;
    double mbits = 0;  // for Ethernet; 0: not known
  };
  const Port& Of(const std::string& node) {
    const auto [found, is_new] = ports_.try_emplace(node);
    const Node* const known = is_new ? inventory_.FindNode(node) : nullptr;
    if (known == nullptr) return found->second;
    const absl::StatusOr<HardwareClass> hardware = ReadHardwareClass(inventory_, *known);
    if (!hardware.ok()) return found->second;
    found->second.name = hardware->Port();
    if (!hardware->infiniband_rate.has_value()) {
      found->second.mbits = hardware->network_gbits_per_s.value_or(0) * kMbitsInGbit;
    }
    return found->second;
  }

 private:
  const Inventory& inventory_;
  std::map<std::string, Port> ports_;
};

// Whether a port of the result runs at another speed than the inventory says, so that it is unclear
// which is meant.
bool IsOtherPort(const v1::CheckResult& result, const Ports::Port& port) {
  for (const v1::Subject& subject : result.subjects()) {
    double mbits = 0;
    if (subject.kind() == "nic" && port.mbits > 0 &&
        absl::SimpleAtod(AttributeOf(subject, "speed_mbits"), &mbits) && mbits != port.mbits) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::Status ReadGoodResults(Store& store, const Inventory& inventory, Catalog catalog,
                             const GoodResultQuery& query, FloorLearner& learner,
                             std::vector<std::string>& notes) {
  std::vector<ValidationRecord> validations;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(validations, txn.validations().List(kMaxLearnValidations, ""));
    return absl::OkStatus();
  }));
  const bool all_read = validations.size() < kMaxLearnValidations;
  Ports ports(inventory);
  std::set<std::string> other_ports;
  size_t damaged = 0, left = 0;
  for (const ValidationRecord& validation : validations) {
    if (validation.created_at < query.since) break;
    ++left;
    if (validation.state != ValidationRecord::kDone) continue;
    if (!query.suite.empty() && validation.suite != query.suite) continue;
    int64_t after = 0;
    while (true) {
      if (query.is_cancelled && query.is_cancelled()) {
        return absl::CancelledError("the caller has stopped waiting");
      }
      std::vector<GoodResultRecord> page;
      RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
        ASSIGN_OR_RETURN(page,
                         txn.validation_checks().ListGood(validation.validation_id, after, kPage));
        return absl::OkStatus();
      }));
      for (const GoodResultRecord& record : page) {
        after = record.place;
        const checks::CheckSpec* const spec = FindSpecIn(catalog, record.name);
        if (spec == nullptr || spec->scope == checks::Scope::kGroup) continue;
        Ports::Port port = ports.Of(record.node);
        if (spec->scope == checks::Scope::kPair) {
          for (const absl::string_view member :
               absl::StrSplit(record.members, ' ', absl::SkipEmpty())) {
            if (ports.Of(std::string(member)).name != port.name) port = {};
          }
          if (port.name.empty()) continue;
        }
        const absl::StatusOr<v1::CheckResult> result = UnpackResult(record.result);
        if (!result.ok()) {
          ++damaged;
          continue;
        }
        if (IsOtherPort(*result, port)) {
          other_ports.insert(record.node);
          continue;
        }
        learner.Add({record.node, port.name, validation.suite, validation.validation_id,
                     record.reported_at, spec, &*result, record.parameters_digest});
      }
      if (page.size() < kPage) break;
    }
  }
  if (!all_read && left == validations.size()) {
    notes.push_back(
        absl::StrCat("only the newest ", kMaxLearnValidations, " validations were read"));
  }
  if (damaged > 0)
    notes.push_back(absl::StrCat(CountedAre(damaged, "result"), " damaged in the store"));
  if (!other_ports.empty()) {
    notes.push_back(absl::StrCat(
        FoldHostlist({other_ports.begin(), other_ports.end()}),
        ": network_gbits_per_s in the inventory differs from the speed of the measured port"));
  }
  if (learner.full()) {
    notes.push_back(absl::StrCat("more than ", FloorLearner::kMaxSubjects, " GPUs and ports, or ",
                                 FloorLearner::kMaxSeries,
                                 " metrics of them: the rest was left out"));
  }
  return absl::OkStatus();
}

}  // namespace muster::controller::validation
