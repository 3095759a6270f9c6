// Folded entries of objects look to templates like any others.
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/value/folded_value.h"
#include "common/value/proto_value.h"
#include "controller/template/template.h"
#include "muster/v1/facts.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::tmpl {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

v1::Facts Facts(int gpus) {
  v1::Facts facts;
  facts.mutable_cpu()->set_cpus(64);
  facts.mutable_cpu()->set_model("x");
  facts.set_nvidia_driver_version("535.261.03");
  for (int i = 0; i < gpus; ++i) {
    v1::GpuFacts& gpu = *facts.add_gpus();
    gpu.set_index(static_cast<uint32_t>(i));
    gpu.set_slurm_type(i == 0 ? "h100" : "a100");
    gpu.set_power_limit_watts(80.5);
  }
  return facts;
}

Scope Nodes(const Value& facts) {
  Value nodes = Value::object();
  for (const char* name : {"c001", "c002"}) nodes[name] = {{"name", name}, {"facts", facts}};
  Scope scope;
  scope.Set("nodes", std::move(nodes));
  return scope;
}

Scope PlainNodes() { return Nodes(ProtoToValue(Facts(2))); }
Scope FoldedNodes() { return Nodes(*FoldMessage(v1::Facts(), Facts(2).SerializeAsString())); }

TEST(FoldedTest, TemplatesSeeNoDifference) {
  const Scope plain = PlainNodes();
  const Scope folded = FoldedNodes();
  const Value facts = *FoldMessage(v1::Facts(), Facts(2).SerializeAsString());
  const Scope lent = Nodes(Lend(facts));
  for (const char* source : {
           "{{ nodes.c001.facts.cpu.cpus }}",
           "{{ nodes['c001']['facts']['gpus'][1]['slurm_type'] }}",
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
           "{{ nodes.c001.facts.gpus | map(attribute='power_limit_watts') | sum }}",
           "{{ nodes.c001.facts == nodes.c002.facts }}",
           "{{ nodes | to_json }}",
           "{{ nodes.c001.facts | to_nice_yaml }}",
           "{{ nodes.c001.facts | dict2items }}",
           "{{ nodes.c001.facts | dict2items | items2dict }}",
           "{{ nodes.c001.facts | combine({'cpu': {'cpus': 1}, 'gpus': [1]}) }}",
           "{{ {'cpu': {'x': 1}, 'gpus': [1]} | combine(nodes.c001.facts, recursive=true, "
           "list_merge='append') }}",
           "{{ nodes.values() | zip([1]) | flatten }}",
           "{{ nodes.values() | list | union([nodes.c001]) }}",
           "{{ nodes.values() | list | difference([nodes.c001]) }}",
           "{{ nodes.c001.facts.gpus == nodes.c002.facts.gpus }}",
           "{{ nodes.c001 in nodes.values() }}",
           "{{ {'all': nodes} }}",
           "{% for n in nodes.values() %}{% for g in n.facts.gpus %}{{ g.slurm_type }} {% endfor "
           "%}{% "
           "endfor %}",
       }) {
    SCOPED_TRACE(source);
    const auto expected = RenderValue(source, {.file = "f"}, plain);
    const auto value = RenderValue(source, {.file = "f"}, folded);
    ASSERT_OK(expected);
    ASSERT_OK(value);
    EXPECT_EQ(*value, *expected);
    EXPECT_EQ(value->dump(), expected->dump());
    const auto of_lent = RenderValue(source, {.file = "f"}, lent);
    ASSERT_OK(of_lent);
    EXPECT_EQ(of_lent->dump(), expected->dump());
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
  scope.Set("facts", *FoldMessage(v1::Facts(), Facts(1'000).SerializeAsString()));
  const auto turns = [&](int count) {
    return RenderValue(absl::StrCat("{% for i in range(", count, ") %}{% set x = facts.gpus %}",
                                    "{% endfor %}"),
                       {.file = "f"}, scope, {.max_steps = 1'000'000})
        .status();
  };
  EXPECT_OK(turns(5));
  EXPECT_THAT(turns(1'000), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(FoldedTest, LookingAtALentValueCopiesNothing) {
  Value users = Value::array();
  for (int i = 0; i < 10'000; ++i) users.push_back(i);
  const Value vars = {{"users", Lend(users)}};
  Value nodes = Value::object();
  for (int i = 0; i < 1'000; ++i) nodes[absl::StrCat("c", i)] = {{"vars", Lend(vars)}};
  Scope scope;
  scope.Set("nodes", std::move(nodes));
  const auto render = [&](absl::string_view source) {
    return RenderValue(source, {.file = "f"}, scope, {.max_steps = 1'000'000});
  };
  const auto last = render(
      "{% for n in nodes.values() %}{% if loop.last %}{{ n.vars.users[-1] }}{% endif %}{% endfor "
      "%}");
  ASSERT_OK(last);
  EXPECT_EQ(*last, "9999");
  // A value that leaves the template is whole, and its size is charged.
  EXPECT_EQ(render("{{ nodes.c7.vars }}")->at("users"), users);
  EXPECT_EQ(render("{{ nodes.values() | list }}").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace muster::tmpl
