// No template hangs, overflows the stack or exhausts the memory.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "controller/template/allowance.h"
#include "controller/template/template.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::tmpl {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr auto kOverLimit = absl::StatusCode::kInvalidArgument;

std::string Repeat(absl::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) absl::StrAppend(&out, text);
  return out;
}

TEST(LimitsTest, DeepNestingIsRefusedWhileParsing) {
  constexpr int kDeep = 20000;
  for (const std::string& source : {
           "{{ " + Repeat("(", kDeep),
           "{{ " + Repeat("[", kDeep),
           "{{ " + Repeat("{'a':", kDeep),
           "{{ " + Repeat("not ", kDeep) + "1 }}",
           "{{ " + Repeat("-", kDeep) + "1 }}",
           "{{ " + Repeat("(", kDeep) + "1" + Repeat(")", kDeep) + " }}",
           "{{ a" + Repeat("[a", kDeep) + Repeat("]", kDeep) + " }}",
           "{{ a" + Repeat("|default(a", kDeep) + Repeat(")", kDeep) + " }}",
           "{{ " + Repeat("1 if 1 else ", kDeep) + "1 }}",
           "{{ 1" + Repeat(" + 1", kDeep) + " }}",
           "{{ a" + Repeat(".b", kDeep) + " }}",
           "{{ a" + Repeat("|upper", kDeep) + " }}",
           "{% set x" + Repeat("|upper", kDeep) + " %}{% endset %}",
           "{{ 1" + Repeat(" if 1", kDeep) + " }}",
           "{{ 1 is in " + Repeat("[", kDeep),
           Repeat("{% if 1 %}", kDeep) + Repeat("{% endif %}", kDeep),
           Repeat("{% for i in [1] %}", kDeep),
       }) {
    SCOPED_TRACE(source.substr(0, 40));
    EXPECT_THAT(Template::Parse(source, {.file = "f"}),
                StatusIs(kOverLimit, AnyOf(HasSubstr("nested deeper"), HasSubstr("too long"),
                                           HasSubstr("is never closed"))));
  }
}

TEST(LimitsTest, ManyNamesAmongManyAreLookedUpAtOnce) {
  constexpr int kNodes = 20'000;
  Scope scope;
  nlohmann::json names = nlohmann::json::array();
  for (int n = 0; n < kNodes; ++n) names.push_back(absl::StrCat("c", n));
  scope.Set("names", names);
  const absl::StatusOr<Rendered> count =
      Render("{{ names | select('in', names) | list | length }}", {}, scope);
  ASSERT_OK(count);
  EXPECT_EQ(count->text, "20000");
}

// Each of these would take hours if only what it does were counted, and not how far it looks.
TEST(LimitsTest, LookingThroughLongTextsIsWork) {
  Limits limits;
  limits.max_steps = 200'000;
  for (const char* source : {
           "{{ ('a' * 16000000) | regex_replace('a.*z|a', '') | length }}",
           "{% for i in range(1000000) %}{{ t | length }}{% endfor %}",
           "{% for i in range(1000000) %}{% if t is search('z') %}{% endif %}{% endfor %}",
           "{% for i in range(1000000) %}{{ t | regex_search('z') }}{% endfor %}",
           "{% for i in range(1000000) %}{{ t == u }}{% endfor %}",
           "{% for i in range(1000000) %}{{ t < u }}{% endfor %}",
           "{% for i in range(1000000) %}{{ t.startswith('z') }}{% endfor %}",
           "{% for i in range(1000000) %}{{ 'z' in t }}{% endfor %}",
       }) {
    SCOPED_TRACE(source);
    Scope scope;
    scope.Set("t", std::string(8'000'000, 'a'));
    scope.Set("u", std::string(7'999'999, 'a') + "b");
    EXPECT_THAT(Render(source, {}, scope, limits), StatusIs(kOverLimit, HasSubstr("steps")));
  }
}

// In linear time: by the naive way each of these compares 10^13 bytes and more.
TEST(LimitsTest, LongTextsAreFoundInLongTexts) {
  Scope scope;
  scope.Set("t", std::string(16'000'000, 'a'));
  scope.Set("w", std::string(8'000'000, 'a') + "b");
  for (const auto& [source, result] :
       {std::pair("{{ w in t }}", "False"), std::pair("{{ (t | replace(w, '')) == t }}", "True"),
        std::pair("{{ t.split(w) | length }}", "1"),
        std::pair("{{ ('b' * 8000000 ~ 'a') and t.strip('b' * 8000000 ~ 'a') }}", "")}) {
    const absl::StatusOr<Rendered> rendered = Render(source, {}, scope);
    ASSERT_OK(rendered) << source;
    EXPECT_EQ(rendered->text, result) << source;
  }
}

TEST(LimitsTest, LongFlatTemplatesAreFine) {
  constexpr int kMany = 5000;
  EXPECT_OK(Render(Repeat("{% if 0 %}a{% elif 1 %}b{% endif %}{{ 1 }}\n", kMany), {}, Scope()));
  EXPECT_OK(Render("{{ 1" + Repeat(" ~ 1", kMany) + " }}", {}, Scope()));
  EXPECT_OK(Render("{{ [1" + Repeat(", 1", kMany) + "] | length }}", {}, Scope()));
  EXPECT_OK(Render("{% if 0 %}" + Repeat("{% elif 0 %}", kMany) + "{% endif %}", {}, Scope()));
}

TEST(LimitsTest, WorkIsBounded) {
  Limits limits;
  limits.max_steps = 200'000;
  for (const char* source : {
           "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
           "{% for a in range(1000) %}{% for b in range(1000) %}{{ [1,2,3] | sort }}{% endfor %}{% "
           "endfor %}",
           "{{ 'a' * 10 ** 15 }}",
           "{{ [0] * 10 ** 15 }}",
           "{{ 10 ** 10 ** 10 }}",
           "{{ range(10 ** 12) | list }}",
           "{% set a = 'x' * 10 ** 7 %}{% set b = [a, a, a, a, a, a, a, a] | join %}",
           "{% set a = 'x' * 10 ** 6 %}{{ a | replace('x', a) }}",
           "{% set a = 'x' * 10 ** 6 %}{{ a | replace('', a) }}",
           "{% set a = 'x' * 10 ** 6 %}{{ a | regex_replace('x', a) }}",
           "{% set a = '\\n' * 10 ** 6 %}{{ a | indent(1000, blank=true) }}",
           "{% set a = 'x' * 10 ** 6 %}{{ range(100) | join(a) }}",
           "{% set a = 'x' * 10 ** 6 %}{% for i in range(100) %}{{ a }}{% endfor %}",
           "{% set a = 'x' * 10 ** 6 %}{% set b = (['x'] * 1000) | map('replace', 'x', a) | list "
           "%}",
           "{{ range(100000) | unique | list }}",
           "{{ range(2000) | union(range(2000) | list) | difference([0]) }}",
           "{{ range(100000) | list | flatten | zip(range(100000)) | list }}",
           "{% set a = 'x' * 10 ** 6 %}{{ [a, a, a, a, a, a, a, a, a, a] | to_nice_yaml }}",
           "{% set a = '\\n' * 10 ** 6 %}{{ a | comment(decoration='x' * 100) }}",
           "{% set a = 'x' * 10 ** 6 %}{{ '' | comment(prefix=a, prefix_count=100) }}",
           "{{ ('[' ~ '1,' * 10 ** 6 ~ '1]') | from_json }}",
           "{{ range(10) | map('string') | map('password_hash', 'sha512', 's') | list }}",
       }) {
    SCOPED_TRACE(source);
    EXPECT_THAT(
        Render(source, {.file = "f"}, Scope(), limits),
        StatusIs(kOverLimit, AnyOf(HasSubstr("more than 200000 steps"), HasSubstr("grows beyond"),
                                   HasSubstr("64 bits"), HasSubstr("range() of more than"))));
  }
}

TEST(LimitsTest, AnAllowanceMayLetEachRenderingTakeMore) {
  constexpr char kSource[] = "{{ range(10000) | map('string') | list | length }}";
  const Limits limits = {.max_steps = 5'000};
  Scope scope;
  EXPECT_THAT(RenderValue(kSource, {.file = "f"}, scope, limits), StatusIs(kOverLimit, Said()));
  Allowance node(1'000'000, 100'000, "the templates of node c001");
  scope.SetAllowance(&node);
  EXPECT_OK(RenderValue(kSource, {.file = "f"}, scope, limits));
}

// A hundred templates that each stop just short of their limit take a hundred times as long.
TEST(LimitsTest, ManyRenderingsTogetherAreBoundedAndTheGreediestFileIsNamed) {
  Limits limits;
  limits.max_steps = 50'000;
  Allowance request(200'000, 0, "the templates of this request");
  Allowance node(100'000, 0, "the templates of node c001", &request);
  Scope shared, scope(&shared);
  shared.SetAllowance(&request);
  scope.SetAllowance(&node);
  constexpr char kGreedy[] = "{% for a in range(5000) %}{{ a }}{% endfor %}";  // some 28,000 steps
  EXPECT_OK(Render("{{ 1 }}", {.file = "modest.j2"}, scope, limits));
  const size_t modest = node.spent();
  int rendered = 0;
  absl::Status status;
  while (status.ok() && rendered < 100) {
    status = Render(kGreedy, {.file = "greedy.j2"}, scope, limits).status();
    rendered += status.ok();
  }
  EXPECT_GT(rendered, 1);
  EXPECT_LT(rendered, 10);
  EXPECT_THAT(status, StatusIs(kOverLimit, Said()));
  // From now on nothing is computed for this node, and other nodes still have the rest of the
  // total.
  EXPECT_THAT(Render("{{ 1 }}", {.file = "modest.j2"}, scope, limits),
              StatusIs(kOverLimit, Said()));
  EXPECT_EQ(node.spent(), 100'000u);
  EXPECT_LE(request.spent(), 100'000u);
  EXPECT_GT(request.spent(), modest + 27'000u);
  Allowance other(1'000'000, 0, "the templates of node c002", &request);
  Scope others(&shared);
  others.SetAllowance(&other);
  EXPECT_OK(Render("{{ 1 }}", {.file = "modest.j2"}, others, limits));
  while (Render(kGreedy, {.file = "greedy.j2"}, others, limits).ok()) continue;
  EXPECT_THAT(Render("{{ 1 }}", {.file = "modest.j2"}, others, limits),
              StatusIs(kOverLimit, Said()));
}

TEST(LimitsTest, MemoryOfDoublingListsIsBounded) {
  std::string source = "{% set x = ['abc'] %}";
  for (int i = 0; i < 60; ++i) source += "{% set x = [x, x] %}";
  Limits limits;
  limits.max_steps = 200'000;
  EXPECT_THAT(Render(source, {.file = "f"}, Scope(), limits), StatusIs(kOverLimit, Said()));
}

TEST(LimitsTest, DeepValuesAreRefusedNotWalked) {
  std::string source = "{% set x = [] %}";
  for (int i = 0; i < 150; ++i) source += "{% set x = [x] %}";
  EXPECT_THAT(Render(source + "{{ x }}", {.file = "f"}, Scope()), StatusIs(kOverLimit, Said()));

  Value deep = Value::array();
  for (int i = 0; i < 5000; ++i) deep = Value::array({std::move(deep)});
  Scope scope;
  scope.Set("deep", std::move(deep));
  for (const char* use :
       {"{{ deep }}", "{{ deep | tojson }}", "{{ deep == deep }}", "{{ [deep] | length }}",
        "{{ deep < deep }}", "{{ deep | to_nice_yaml }}", "{{ deep | flatten }}",
        "{{ {'a': deep} | combine({'a': deep}, recursive=true) }}",
        "{{ ('[' * 5000 ~ ']' * 5000) | from_json }}"}) {
    SCOPED_TRACE(use);
    EXPECT_THAT(Render(use, {.file = "f"}, scope), StatusIs(kOverLimit, Said()));
  }
}

// Each line of a deep list begins with many spaces.
TEST(LimitsTest, IndentationCountsAsText) {
  Value list = Value::array();
  for (int i = 0; i < 100'000; ++i) list.push_back(1);
  for (int i = 0; i < 90; ++i) list = Value::array({std::move(list)});
  Scope scope;
  scope.Set("deep", std::move(list));
  for (const char* use :
       {"{{ deep | to_json(indent=16) }}", "{{ deep | to_nice_yaml(indent=9) }}"}) {
    SCOPED_TRACE(use);
    EXPECT_THAT(Render(use, {.file = "f"}, scope), StatusIs(kOverLimit, Said()));
  }
}

TEST(LimitsTest, CallersMaySetTighterOnes) {
  Limits limits;
  limits.max_output = 100;
  EXPECT_THAT(Render(std::string(101, 'x'), {.file = "f"}, Scope(), limits),
              StatusIs(kOverLimit, Said()));
  limits.max_steps = 10;
  EXPECT_THAT(Render("{% for i in range(20) %}{% endfor %}", {.file = "f"}, Scope(), limits),
              StatusIs(kOverLimit, Said()));
  limits.max_depth = 2;
  EXPECT_THAT(Render("{{ [[[1]]] }}", {.file = "f"}, Scope(), limits),
              StatusIs(kOverLimit, Said()));
}

}  // namespace
}  // namespace muster::tmpl
