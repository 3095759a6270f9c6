#include "controller/web/overview.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "controller/inventory/inventory.h"
#include "controller/store/tables.h"
#include "controller/web/json_text.h"

namespace muster::controller {
namespace {

using Json = nlohmann::ordered_json;

// Words that many nodes share, each once.
class Words {
 public:
  // Its place; -1 for the empty word.
  int PlaceOf(const std::string& word) {
    if (word.empty()) return -1;
    const auto [found, is_new] = places_.emplace(word, static_cast<int>(places_.size()));
    if (is_new) words_.push_back(word);
    return found->second;
  }
  const std::vector<std::string>& words() const { return words_; }

 private:
  absl::flat_hash_map<std::string, int> places_;
  std::vector<std::string> words_;
};

std::string WordOf(v1::NodeState state) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::NodeState_Name(state), "NODE_STATE_"));
}

int FlagsOf(const v1::Node& node) {
  const bool has_failed = node.last_run_result() == "failed" ||
                          node.last_run_result() == "unreachable" ||
                          node.last_run_result() == kRunLost;
  return (node.connected() ? kConnected : 0) | (node.holds().empty() ? 0 : kHeld) |
         (node.facts_refused().empty() ? 0 : kFactsRefused) | (has_failed ? kLastRunFailed : 0);
}

}  // namespace

std::string OverviewJson(const std::vector<v1::Node>& nodes, const Inventory* inventory) {
  Words racks, states, services, roles;
  Json rows = Json::array();
  for (const v1::Node& node : nodes) {
    if (node.state() == v1::NODE_STATE_REMOVED) continue;
    rows.push_back(
        Json::array({node.name(), racks.PlaceOf(node.rack()), states.PlaceOf(WordOf(node.state())),
                     services.PlaceOf(node.service()), roles.PlaceOf(node.role()), FlagsOf(node)}));
  }
  Json shown_racks = Json::array();
  for (const std::string& name : racks.words()) {
    const Rack* const rack = inventory == nullptr ? nullptr : inventory->FindRack(name);
    shown_racks.push_back(Json::array({name, rack == nullptr ? "" : rack->switch_name}));
  }
  const Json page = {{"racks", std::move(shown_racks)},
                     {"states", states.words()},
                     {"services", services.words()},
                     {"roles", roles.words()},
                     {"nodes", std::move(rows)}};
  return ToJsonText(page);
}

}  // namespace muster::controller
