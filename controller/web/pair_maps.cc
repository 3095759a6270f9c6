#include "controller/web/pair_maps.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/status.h"
#include "common/checks/pair_grid.h"
#include "controller/service/validation_service.h"
#include "controller/web/json_text.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxMaps = 12;

// Four digits are more than anybody sees, and a tenth of the bytes.
double Rounded(double value) {
  double rounded = 0;
  return absl::SimpleAtod(absl::StrFormat("%.4g", value), &rounded) ? rounded : value;
}

// "nic-bandwidth: throughput, tcp"
std::string TitleOf(const std::string& check, const v1::Metric& metric) {
  return absl::StrCat(check, ": ", absl::StrReplaceAll(metric.name(), {{"_", " "}}),
                      metric.variant().empty() ? "" : ", ", metric.variant());
}

struct PairMap {
  std::string unit;
  checks::PairGrid grid;
};

nlohmann::ordered_json ToJson(const std::string& title, const PairMap& map) {
  nlohmann::ordered_json json = {{"title", title}, {"unit", map.unit}};
  nlohmann::ordered_json& names = json["names"] = nlohmann::ordered_json::array();
  nlohmann::ordered_json& cells = json["cells"] = nlohmann::ordered_json::array();
  const auto& blocks = map.grid.blocks();
  for (size_t row = 0; row < blocks.size(); ++row) {
    names.push_back(blocks[row].label);
    for (size_t column = 0; column < blocks.size(); ++column) {
      if (const std::optional<double> value = map.grid.Cell(row, column))
        cells.push_back({row, column, Rounded(*value)});
    }
  }
  return json;
}

}  // namespace

absl::StatusOr<std::string> PairMaps(ValidationService& validations,
                                     absl::string_view validation_id) {
  v1::GetValidationRequest get;
  get.set_validation_id(std::string(validation_id));
  v1::GetValidationResponse got;
  const grpc::Status status = validations.GetValidation(nullptr, &get, &got);
  if (!status.ok()) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }
  std::vector<std::string> names;
  std::map<std::string, size_t> places;  // in names
  for (const v1::NodeVerdict& node : got.validation().nodes()) {
    places[node.node()] = names.size();
    names.push_back(node.node());
  }
  std::map<std::string, PairMap> maps;  // by title
  v1::ListCheckResultsRequest request;
  request.set_validation_id(std::string(validation_id));
  RETURN_IF_ERROR(validations.EachResult(request, [&](const v1::NodeCheckResult& result) {
    const auto from = places.find(result.node()), to = places.find(result.partner());
    if (from == places.end() || to == places.end()) return true;
    for (const v1::Metric& metric : result.result().metrics()) {
      const std::string title = TitleOf(result.result().check(), metric);
      if (maps.size() >= kMaxMaps && maps.count(title) == 0) continue;
      const auto [map, is_new] = maps.try_emplace(
          title, PairMap{metric.unit() == "1" ? "" : metric.unit(), checks::PairGrid({})});
      if (is_new) map->second.grid = checks::PairGrid(names);
      map->second.grid.Take(from->second, to->second, metric.value());
    }
    return true;
  }));
  nlohmann::ordered_json json = {{"maps", nlohmann::ordered_json::array()}};
  for (const auto& [title, map] : maps) {
    if (map.grid.range().has_value()) json["maps"].push_back(ToJson(title, map));
  }
  return ToJsonText(json);
}

}  // namespace muster::controller
