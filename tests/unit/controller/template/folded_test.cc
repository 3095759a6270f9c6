// Folded entries of objects look to templates like any others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/value/folded_value.h"
#include "controller/template/template.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::tmpl {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

Value Gpus(int count) {
  Value gpus = Value::array();
  for (int i = 0; i < count; ++i)
    gpus.push_back({{"index", i}, {"type", i == 0 ? "h100" : "a100"}, {"memory", 80.5}});
  return gpus;
}

// Two nodes with facts, of which `fold` may fold parts.
template <typename FoldPart>
Scope Nodes(FoldPart fold) {
  Value nodes = Value::object();
  for (const char* name : {"c001", "c002"}) {
    nodes[name] = {{"name", name},
                   {"facts",
                    {{"hostname", name},
                     {"cpu", fold({{"cpus", 64}, {"model", "x"}})},
                     {"gpus", fold(Gpus(2))}}}};
  }
  Scope scope;
  scope.Set("nodes", std::move(nodes));
  return scope;
}

Scope PlainNodes() {
  return Nodes([](Value part) { return part; });
}
Scope FoldedNodes() {
  return Nodes([](Value part) { return Fold(part); });
}

TEST(FoldedTest, TemplatesSeeNoDifference) {
  const Scope plain = PlainNodes();
  const Scope folded = FoldedNodes();
  for (const char* source : {
           "{{ nodes.c001.facts.cpu.cpus }}",
           "{{ nodes['c001']['facts']['gpus'][1]['type'] }}",
           "{{ nodes.c001.facts.get('cpu') }}",
           "{{ nodes.c001.facts.gpus | length }}",
           "{{ nodes.c001.facts }}",
           "{{ nodes }}",
           "text {{ nodes }}",
           "{{ nodes | tojson }}",
           "{{ nodes.c001.facts | items }}",
           "{{ nodes.c001.facts.items() }}",
           "{{ nodes.c001.facts.keys() }}",
           "{{ nodes.c001.facts.values() }}",
           "{{ nodes.c001.facts | dictsort }}",
           "{{ nodes.values() | selectattr('facts.cpu.cpus', 'equalto', 64) | list }}",
           "{{ nodes.values() | map(attribute='facts.gpus') | first }}",
           "{{ nodes.values() | map(attribute='facts') | list }}",
           "{{ nodes.values() | groupby('facts.cpu.model') }}",
           "{{ nodes.c001.facts.gpus | map(attribute='memory') | sum }}",
           "{{ nodes.c001.facts == nodes.c002.facts }}",
           "{{ nodes.c001.facts.gpus == nodes.c002.facts.gpus }}",
           "{{ nodes.c001 in nodes.values() }}",
           "{{ {'all': nodes} }}",
           "{% for n in nodes.values() %}{% for g in n.facts.gpus %}{{ g.type }} {% endfor %}{% "
           "endfor %}",
       }) {
    SCOPED_TRACE(source);
    const auto expected = RenderValue(source, {.file = "f"}, plain);
    const auto value = RenderValue(source, {.file = "f"}, folded);
    ASSERT_OK(expected);
    ASSERT_OK(value);
    EXPECT_EQ(*value, *expected);
    EXPECT_EQ(value->dump(), expected->dump());
  }
}

TEST(FoldedTest, ErrorsAreTheSame) {
  for (const char* source : {"{{ nodes.c001.facts.cpu.cpu }}", "{{ nodes.c001.facts.gpus[7] }}"}) {
    SCOPED_TRACE(source);
    const auto expected = RenderValue(source, {.file = "f"}, PlainNodes());
    ASSERT_FALSE(expected.ok());
    EXPECT_EQ(RenderValue(source, {.file = "f"}, FoldedNodes()).status(), expected.status());
  }
}

TEST(FoldedTest, UnfoldingTakesSteps) {
  Scope scope;
  scope.Set("facts", {{"gpus", Fold(Gpus(1'000))}});
  const auto turns = [&](int count) {
    return RenderValue(absl::StrCat("{% for i in range(", count, ") %}{% set x = facts.gpus %}",
                                    "{% endfor %}"),
                       {.file = "f"}, scope, {.max_steps = 1'000'000})
        .status();
  };
  EXPECT_OK(turns(5));
  EXPECT_THAT(turns(1'000), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::tmpl
