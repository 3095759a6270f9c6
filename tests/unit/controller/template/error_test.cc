// Errors name their place, show the line, and offer the nearest known word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "controller/template/template.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::tmpl {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto kBadTemplate = absl::StatusCode::kInvalidArgument;

Scope ErrorVariables() {
  Scope scope;
  scope.Set("gpu_count", 8);
  scope.Set("node", Value{{"name", "c001"}, {"cpus", 64}});
  scope.SetFunction("secret", [](const std::vector<Value>&, const Value&) -> absl::StatusOr<Value> {
    return absl::NotFoundError("no secret of this name");
  });
  return scope;
}

TEST(TemplateErrorTest, ShowsTheLineTheCaretAndTheNearestName) {
  EXPECT_THAT(
      Render("a\nGres=gpu:{{ gpu_cuont }}\n", {.file = "roles/x/templates/y.j2"}, ErrorVariables()),
      StatusIs(kBadTemplate, Eq("roles/x/templates/y.j2:2:13: undefined variable 'gpu_cuont' "
                                "(did you mean 'gpu_count'?)\n"
                                "  2 | Gres=gpu:{{ gpu_cuont }}\n"
                                "    |             ^")));
}

TEST(TemplateErrorTest, CountsFromWhereTheTextStandsInItsFile) {
  const SourcePosition position = {.file = "tasks/main.yaml", .line = 7, .column = 12};
  EXPECT_THAT(Render("x {{ y }}", position, ErrorVariables()),
              StatusIs(kBadTemplate, Eq("tasks/main.yaml:7:17: undefined variable 'y'\n"
                                        "  7 |            x {{ y }}\n"
                                        "    |                 ^")));
}

TEST(TemplateErrorTest, ShowsTheWholeFilesLineWhenItIsGiven) {
  SourcePosition position = {.file = "main.yaml", .line = 2, .column = 9};
  position.file_text = std::make_shared<const std::string>("- a:\n  name: \"{{ y }}\"\n");
  EXPECT_THAT(Render("{{ y }}", position, ErrorVariables()), StatusIs(kBadTemplate, Said()));
}

TEST(TemplateErrorTest, LaterLinesOfABlockAreIndentedAsInTheirFile) {
  const SourcePosition position = {.file = "f", .line = 3, .column = 7, .indent = 6};
  EXPECT_THAT(Render("a\n{{ y }}\n", position, ErrorVariables()),
              StatusIs(kBadTemplate, StartsWith("f:4:10: ")));
}

struct Case {
  const char* source;
  const char* message;
};

TEST(TemplateErrorTest, EachNamesItsPlaceAndRemedy) {
  const Case kCases[] = {
      {"{{ node.nmae }}",
       "f:1:9: undefined attribute 'nmae' of this dictionary (did you mean 'name'?)"},
      {"{{ node['cpu'] }}", "f:1:8: this dictionary has no such item 'cpu' (did you mean 'cpus'?)"},
      {"{{ 'x' | uper }}",
       "f:1:10: unknown filter 'uper' in Muster's subset of Jinja2 (did you mean 'upper'?)"},
      {"{{ 1 is defind }}",
       "f:1:9: unknown test 'defind' in Muster's subset of Jinja2 (did you mean 'defined'?)"},
      {"{{ secrte('a') }}",
       "f:1:4: unknown function 'secrte' in Muster's subset of Jinja2 (did you mean 'secret'?)"},
      {"{{ secret }}", "f:1:4: 'secret' is a function; call it"},
      {"{{ 'a'.uper() }}",
       "f:1:8: string has no method 'uper' in Muster's subset of Jinja2 (did you mean 'upper'?)"},
      {"{% include 'x' %}", "f:1:12: {% include %} works only in the files of a role's templates/"},
      {"{% include x %}", "f:1:12: {% include %} needs the name of a template in quotes"},
      {"{% include 'x' ignore missing %}",
       "f:1:16: 'ignore' after the name of an included template is outside"},
      {"{% macro m() %}",
       "f:1:4: {% macro %} is outside Muster's subset of Jinja2; put the repeated"},
      {"{{ [1] | to_yaml }}",
       "f:1:10: unknown filter 'to_yaml' in Muster's subset of Jinja2; use "
       "to_nice_yaml"},
      {"{{ 'a' | ansible.utils.ipaddr('x') }}",
       "f:1:10: unknown filter 'ansible.utils.ipaddr' in "
       "Muster's subset of Jinja2; addresses come from"},
      {"{{ ['a'] | map('random') | list }}",
       "f:1:12: unknown filter 'random' in Muster's subset of Jinja2; a second apply must change"},
      {"{{ '1' is version('2', '<') }}",
       "f:1:11: unknown test 'version' in Muster's subset of Jinja2; compare lists"},
      {"{{ lookup('file', 'x') }}",
       "f:1:4: unknown function 'lookup' in Muster's subset of Jinja2; a template reads no files"},
      {"{{ hostvars['a'].b }}", "f:1:4: undefined variable 'hostvars'; use nodes[NAME].vars"},
      {"{{ 'p' | password_hash('sha512') }}",
       "f:1:10: filter 'password_hash' needs a salt that stays the same"},
      {"{{ 'p' | password_hash('sha512', 'a', rounds=1000000) }}",
       "f:1:10: filter 'password_hash' takes 1000 to 100000 rounds, not 1000000"},
      {"{{ '[1,' | from_json }}", "f:1:12: filter 'from_json' found no valid JSON at byte 4"},
      {"{{ {'a': 1} | combine(list_merge='appnd') }}",
       "f:1:15: filter 'combine' knows no such list_merge (did you mean 'append'?)"},
      {"{{ 'x' | comment('cblok') }}",
       "f:1:10: filter 'comment' knows no such style (did you mean 'cblock'?)"},
      {"{{ [1] | union('a') }}", "f:1:10: filter 'union' works on lists, not on string"},
      {"{% fro x in y %}", "f:1:4: unknown statement 'fro' (did you mean 'for'?)"},
      {"{% if 1 %}\n{% for x in [] %}\n{% endif %}",
       "f:3:4: {% endif %} inside {% for %}, which is still open"},
      {"{% endfor %}", "f:1:4: {% endfor %} without anything to belong to"},
      {"ok\n  {% if 1 %}\n", "f:2:6: {% if %} has no {% endif %}"},
      {"{{ (1 + [2) }}", "f:1:11: unexpected ')'"},
      {"{{ (1 + 2 }}", "f:1:11: unexpected '}'"},
      {"{{ 'abc }}", "f:1:4: the string has no closing quote"},
      {"a {{ 1 + \n", "f:1:3: the tag has no end ('}}')"},
      {"{{ 1 2 }}", "f:1:6: expected '}}', found '2'"},
      {"{{ 1 + 'a' }}", "f:1:6: '+' does not work on integer and string; '~' joins"},
      {"{{ 9223372036854775807 + 1 }}", "f:1:24: the result does not fit into 64 bits"},
      {"{{ [1] | join(sep=',') }}", "f:1:10: filter 'join' has no argument 'sep'"},
      {"{{ [] | first }}", "f:1:9: filter 'first' of nothing gives nothing; add default(...)"},
      {"{% for i in [1] %}{{ loop.indx }}{% endfor %}",
       "f:1:27: 'loop' has no 'indx' in Muster's subset of Jinja2 (did you mean 'index'?)"},
      {"{% for i in [1] %}{{ loop.previtem }}{% endfor %}",
       "f:1:27: 'loop.previtem' has no value in this turn"},
      {"{% for a, b in [[1, 2, 3]] %}{% endfor %}", "f:1:4: 3 values for 2 names"},
      {"{{ 'a' | regex_search('(') }}", "f:1:10: bad regular expression: missing )"},
      {"{{ 'c[3-1]' | hostlist_expand }}", "f:1:15: "},
      {"{{ 1 if gpu_count > 9 }}", "f:1:6: the condition is false and there is no 'else'"},
      {"{{ 010 }}", "f:1:4: a number must not start with 0"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.source);
    EXPECT_THAT(Render(c.source, {.file = "f"}, ErrorVariables()),
                StatusIs(kBadTemplate, StartsWith(c.message)));
  }
}

TEST(TemplateErrorTest, FunctionErrorsKeepTheirCodeAndGetThePlace) {
  EXPECT_THAT(Render("{{ secret('a') }}", {.file = "f"}, ErrorVariables()),
              StatusIs(absl::StatusCode::kNotFound, StartsWith("f:1:4: no secret of this name\n")));
}

TEST(TemplateErrorTest, LookupErrorsSayWhereTheVariableWasUsed) {
  Scope scope;
  scope.SetLookup(
      [](absl::string_view name) -> absl::StatusOr<const Value*> {
        return absl::InvalidArgumentError("vars.yaml:3:4: circular");
      },
      [] { return std::vector<std::string>(); });
  EXPECT_THAT(Render("a {{ b }}", {.file = "f"}, scope),
              StatusIs(kBadTemplate, Eq("vars.yaml:3:4: circular\n  for variable 'b' at f:1:6")));
}

TEST(TemplateErrorTest, UndefinedIsAnErrorInEveryUseButDefinedAndDefault) {
  for (const char* use :
       {"y", "y | upper", "y == 1", "not y", "y and 1", "[y]", "{'a': y}", "y is string",
        "1 if y else 2", "y.a", "y[0]", "f(y)", "range(y)", "y ~ ''", "[1] | join(y)"}) {
    SCOPED_TRACE(use);
    Scope scope;
    scope.SetFunction("f", [](const std::vector<Value>&, const Value&) -> absl::StatusOr<Value> {
      return Value(1);
    });
    EXPECT_THAT(EvaluateExpression(use, {.file = "f"}, scope), StatusIs(kBadTemplate, Said()));
  }
}

TEST(TemplateErrorTest, ErrorsNeverShowASecret) {
  Scope scope;
  scope.Set("s", MakeSecret("hunter2("));
  for (const char* use :
       {"s + 1", "s | bool", "'a' | regex_search(s)", "[1] | map(s) | list",
        "[{}] | map(attribute=s) | list", "s.nosuch()", "{'a': 1}[s]", "s | hostlist_expand",
        "'%d' % s", "{s: 1}", "[1] | select(s)", "1 < s", "s | from_json",
        "'x' | password_hash('sha512', s)", "s | password_hash", "'x' | comment(s)",
        "{} | combine({}, list_merge=s)", "[{'key': s, 'value': 1}] | items2dict"}) {
    SCOPED_TRACE(use);
    EXPECT_THAT(EvaluateExpression(use, {.file = "f"}, scope),
                StatusIs(kBadTemplate, Not(HasSubstr("hunter2"))));
  }
}

}  // namespace
}  // namespace muster::tmpl
