// Templates of any bytes: parsed, rendered and evaluated under tight limits. After a line
// "---8<---" stands a second template, which the first may include as 'b'.
#include <cstddef>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "controller/template/folder.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

constexpr absl::string_view kCut = "---8<---\n";

muster::tmpl::Scope MakeScope() {
  muster::tmpl::Scope scope;
  scope.Set("x", 3);
  scope.Set("s", "text");
  scope.Set("k", muster::MakeSecret("key"));
  scope.Set("l", muster::Value::array({1, "b", 2.5, nullptr}));
  scope.Set("d", {{"a", 1}, {"b", {{"c", muster::Value::array({1, 2})}}}});
  scope.SetFunction("f",
                    [](const std::vector<muster::Value>& positional,
                       const muster::Value& named) -> absl::StatusOr<muster::Value> {
                      return positional.empty() ? named : positional[0];
                    });
  return scope;
}

}  // namespace

FUZZ_TARGET(template, data, size) {
  static const muster::tmpl::Scope scope = MakeScope();
  const muster::tmpl::Limits limits = {.max_output = 1 << 16, .max_steps = 20'000, .max_depth = 64};
  const absl::string_view source(reinterpret_cast<const char*>(data), size);
  // The verdict does not matter, only that there is one.
  muster::tmpl::Render(source, {.file = "f"}, scope, limits).status().IgnoreError();
  const size_t cut = source.find(kCut);
  muster::tmpl::TemplateFolder folder;
  folder.Add("a", source.substr(0, cut), {.file = "a"});
  if (cut != absl::string_view::npos)
    folder.Add("b", source.substr(cut + kCut.size()), {.file = "b"});
  const auto including = folder.Parse("a");
  if (including.ok()) including->Render(scope, limits).status().IgnoreError();
  muster::tmpl::EvaluateExpression(source, {.file = "f"}, scope, limits).status().IgnoreError();
  return 0;
}
