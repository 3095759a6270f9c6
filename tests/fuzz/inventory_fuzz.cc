// No text may crash the inventory. A text is split at "%%%% path
// " lines into files; files that parse must survive every operation on an inventory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "controller/inventory/inventory.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(inventory, data, size) {
  using namespace muster::controller;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  std::map<std::string, std::string> files;
  for (const absl::string_view part : absl::StrSplit(text, "%%%% ")) {
    const std::pair<absl::string_view, absl::string_view> file =
        absl::StrSplit(part, absl::MaxSplits('\n', 1));
    files[files.empty() ? "cluster.yaml" : std::string(file.first)] =
        std::string(files.empty() ? part : file.second);
  }
  const absl::StatusOr<Inventory> inventory = ParseInventory(files);
  if (!inventory.ok()) {
    if (inventory.status().message().empty()) std::abort();
    return 0;
  }
  for (const Node& node : inventory->nodes()) {
    (void)VariablesOf(*inventory, node);
    if (inventory->FindNode(node.name) != &node) std::abort();
    const auto selected = Select(*inventory, node.name);
    if (!selected.ok() || selected->size() != 1 || selected->front() != &node) std::abort();
    if (inventory->nodes().size() > 100) break;
  }
  (void)Select(*inventory, text);
  if (!DiffInventory(*inventory, *inventory).empty()) std::abort();
  (void)ToValue(*inventory).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return 0;
}
