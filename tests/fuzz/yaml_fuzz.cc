// No text may crash the YAML layer, and what it accepts must become a value within the limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "common/yaml/document.h"
#include "common/yaml/map_reader.h"
#include "common/yaml/value.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::yaml {
namespace {

void Walk(const Document& document, const Node& node, int depth) {
  if (depth > 64) std::abort();
  std::string text;
  std::vector<std::string> list;
  absl::Duration duration;
  (void)Read(document, node, &text);
  (void)Read(document, node, &list);
  (void)Read(document, node, &duration);
  for (const Node& item : node.items()) Walk(document, item, depth + 1);
  for (const Entry& entry : node.entries()) Walk(document, entry.value, depth + 1);
}

}  // namespace
}  // namespace muster::yaml

FUZZ_TARGET(yaml, data, size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = muster::yaml::Document::Parse("fuzz.yaml", text, {.max_nodes = 5000});
  if (!document.ok()) return 0;
  muster::yaml::Walk(*document, document->root(), 0);
  (void)muster::yaml::ToValue(document->root()).dump();
  (void)muster::yaml::MapReader(*document, document->root(), "thing").Finish();
  return 0;
}
