// Features without a counterpart in Jinja2: native values, scopes, Muster's own filters. The
// comparison with Jinja2 itself is in tests/testdata/template/cases.json.
#include "controller/template/template.h"

#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/fixtures/status_matchers.h"

namespace muster::tmpl {
namespace {

using ::testing::ElementsAre;

Scope Variables() {
  Scope scope;
  scope.Set("n", 3);
  scope.Set("hosts", Value::array({"c003", "c001", "c002"}));
  scope.Set("on", true);
  return scope;
}

TEST(TemplateTest, OneExpressionGivesItsNativeValue) {
  const std::pair<const char*, Value> kCases[] = {
      {"{{ n }}", 3},           {"{{ n + 1 }}", 4},
      {"{{ on }}", true},       {"{{ hosts }}", Value::array({"c003", "c001", "c002"})},
      {"{{ none }}", nullptr},  {"{{ {'a': [1]} }}", {{"a", Value::array({1})}}},
      {" {{ n }}", " 3"},       {"{{ n }}{{ n }}", "33"},
      {"plain", "plain"},       {"", ""},
      {"{# note #}{{ n }}", 3}, {"{% if on %}{{ n }}{% endif %}", "3"},
  };
  for (const auto& [source, expected] : kCases) {
    SCOPED_TRACE(source);
    const auto value = RenderValue(source, {.file = "f"}, Variables());
    ASSERT_OK(value);
    EXPECT_EQ(*value, expected);
  }
}

TEST(TemplateTest, ConditionsFollowPythonsTruth) {
  const std::pair<const char*, bool> kCases[] = {
      {"n > 2 and on", true}, {"''", false},   {"'false'", true},        {"0", false},
      {"[]", false},          {"none", false}, {"x is defined", false},  {"'c001' in hosts", true},
      {"not on", false},      {"0.0", false},  {"\n n ==\n 3 \n", true},
  };
  for (const auto& [expression, expected] : kCases) {
    SCOPED_TRACE(expression);
    const auto holds = EvaluateCondition(expression, {.file = "f"}, Variables());
    ASSERT_OK(holds);
    EXPECT_EQ(*holds, expected);
  }
  EXPECT_FALSE(EvaluateCondition("{{ on }}", {.file = "f"}, Variables()).ok());
  EXPECT_FALSE(EvaluateCondition("", {.file = "f"}, Variables()).ok());
}

TEST(TemplateTest, MustersOwnFiltersAndTests) {
  const std::pair<const char*, const char*> kCases[] = {
      {"{{ hosts | hostlist_fold }}", "c[001-003]"},
      {"{{ 'N=c1 a\nN=x b\nother\nN=c2 a\n' | fold_lines('N=') }}", "N=c[1-2] a\nN=x b\nother\n"},
      {"{{ 'N=a 1\nN=a 2\nN=b 2\nN=b 1\nN=c 1\nN=c 2' | fold_lines('N=') }}",
       "N=a,c 1\nN=a,c 2\nN=b 2\nN=b 1"},
      {"{{ 'c[001-003],x' | hostlist_expand | join(' ') }}", "c001 c002 c003 x"},
      {"{{ \"it's\" | quote }} {{ 'plain' | quote }} {{ '' | quote }}", "'it'\"'\"'s' plain ''"},
      {"{{ 'Yes' | bool }} {{ 'off' | bool }} {{ 0 | bool }}", "True False False"},
      {"{{ 'gpu-node-07' | regex_replace('-(\\\\d+)$', '/\\\\1') }}", "gpu-node/07"},
      {"{{ 'abc' | regex_replace('x*', '-') }}", "-a-b-c-"},
      {"{{ 'nvidia 535.104' | regex_search('[0-9.]+') }}", "535.104"},
      {"{{ 'a' | regex_search('z') }}", ""},
      {"{{ 'c001' is match('c\\\\d+') }} {{ 'xc001' is match('c') }} {{ 'xc001' is search('c') }}",
       "True False True"},
      {"{{ 'abc' | hash('sha256') }}",
       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"{{ 'hello' | b64encode }}", "aGVsbG8="},
      {"{{ on | ternary('a', 'b') }}{{ none | ternary('a', 'b') }}", "ab"},
      // YAML 1.2 reads these as numbers, YAML 1.1 does not.
      {"{{ ['0o17', '1e3'] | to_nice_yaml }}", "- '0o17'\n- '1e3'\n"},
      {"{{ 'Hello world!' | password_hash('sha512', 'saltstringsaltst', rounds=10000) }}",
       "$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/"
       "UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v."},
      {"{% set x | replace('a', n) %}a{% endset %}{{ x }}", "3"},
  };
  for (const auto& [source, expected] : kCases) {
    SCOPED_TRACE(source);
    const auto rendered = Render(source, {.file = "f"}, Variables());
    ASSERT_OK(rendered);
    EXPECT_EQ(rendered->text, expected);
  }
}

TEST(ScopeTest, NearerNamesHideFartherOnes) {
  Scope site;
  site.Set("a", "site");
  site.Set("b", "site");
  const Value looked_up = "lookup";
  Scope node(&site);
  node.SetLookup(
      [&](absl::string_view name) -> absl::StatusOr<const Value*> {
        return name == "b" || name == "c" ? &looked_up : nullptr;
      },
      [] {
        return std::vector<std::string>{"b", "c"};
      });
  node.Set("c", "node");
  const auto rendered = Render("{{ a }} {{ b }} {{ c }}", {}, node);
  ASSERT_OK(rendered);
  EXPECT_EQ(rendered->text, "site lookup node");
}

TEST(ScopeTest, FunctionsGetTheirArguments) {
  Scope scope;
  scope.SetFunction(
      "f", [](const std::vector<Value>& positional, const Value& named) -> absl::StatusOr<Value> {
        return Value{{"positional", positional}, {"named", named}};
      });
  const auto value = RenderValue("{{ f(1, 'a', k=[2]) }}", {}, scope);
  ASSERT_OK(value);
  EXPECT_EQ(value->dump(), R"({"positional":[1,"a"],"named":{"k":[2]}})");
}

TEST(TemplateTest, TellsTheNamesItReads) {
  const auto parsed =
      Template::Parse("{% for i in hosts if on %}{{ f(x.y) }}{{ i }}{% endfor %}", {});
  ASSERT_OK(parsed);
  EXPECT_THAT(parsed->names(), ElementsAre("f", "hosts", "i", "on", "x"));
}

TEST(TemplateTest, OneParsedTemplateRendersOnManyThreads) {
  const auto parsed =
      Template::Parse("{% for h in hosts | sort %}{{ h }}:{{ me }} {% endfor %}", {});
  ASSERT_OK(parsed);
  const Scope shared = Variables();
  std::vector<std::string> out(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < out.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < 20; ++turn) {
        Scope scope(&shared);
        scope.Set("me", static_cast<int64_t>(i));
        out[i] = parsed->Render(scope).value().text;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(out[0], "c001:0 c002:0 c003:0 ");
  EXPECT_EQ(out[7], "c001:7 c002:7 c003:7 ");
}

// A filter may take over a list that nobody else sees, and only such a list.
TEST(TemplateTest, SelectLeavesListsAloneThatAreStillSeen) {
  Scope scope;
  scope.Set("hosts", Value::array({"c003", "c001", "c002"}));
  scope.Set("racks", {{"r1", Value::array({"c001", "c002"})}});
  for (const auto& [source, expected] : std::vector<std::pair<const char*, const char*>>{
           {"{{ hosts | select('equalto', 'c001') | list }} {{ hosts | length }}", "['c001'] 3"},
           {"{{ racks.r1 | reject('equalto', 'c001') | list }} {{ racks.r1 }}",
            "['c002'] ['c001', 'c002']"},
           {"{% set all = hosts | sort %}{{ all | select('in', ['c002']) | list }} {{ all }}",
            "['c002'] ['c001', 'c002', 'c003']"},
           {"{% for l in [[1, 2], [3]] %}{{ l | select('odd') | list }}{{ l }}{% endfor %}",
            "[1][1, 2][3][3]"},
           {"{% set x = [[1, 2], 3] %}{{ x[0] | select('odd') | list }}{{ x }}", "[1][[1, 2], 3]"},
           {"{{ ['b', 'a'] | select | select('equalto', 'a') | list }}", "['a']"},
           {"{{ [1, 2, 3, 4] | reject('odd') | select('gt', 2) | list }}", "[4]"},
           {"{{ [[1, 2], [3]][0] | select('even') | list }}", "[2]"},
           {"{{ hosts | sort | select('undefined') | list }}", "[]"},
       }) {
    SCOPED_TRACE(source);
    const auto rendered = Render(source, {.file = "f"}, scope);
    ASSERT_OK(rendered);
    EXPECT_EQ(rendered->text, expected);
  }
}

TEST(TemplateTest, KnowsPlainText) {
  EXPECT_FALSE(HasTemplateSyntax("a { b } 50% {"));
  EXPECT_TRUE(HasTemplateSyntax("a {{ b }}"));
  EXPECT_TRUE(HasTemplateSyntax("{# #}"));
  EXPECT_TRUE(HasTemplateSyntax("{{% x"));
}

}  // namespace
}  // namespace muster::tmpl
