// Secrets stay secrets on their way through a template.
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

Scope WithSecret() {
  Scope scope;
  scope.SetFunction(
      "secret",
      [](const std::vector<Value>& positional, const Value& named) -> absl::StatusOr<Value> {
        return MakeSecret(positional[0].get<std::string>() +
                          std::to_string(named.value("bytes", 0)));
      });
  scope.Set("list", Value::array({MakeSecret("k1"), "open"}));
  scope.Set("public", "p");
  return scope;
}

TEST(SecretTest, PrintsItsBytesAndMarksTheText) {
  const auto rendered = Render("key={{ secret('m', bytes=1024) }}\n", {}, WithSecret());
  ASSERT_OK(rendered);
  EXPECT_EQ(rendered->text, "key=m1024\n");
  EXPECT_TRUE(rendered->sensitive);
}

TEST(SecretTest, TextWithoutASecretIsNotMarked) {
  const auto rendered =
      Render("{{ public }}{{ 1 if secret('a') else 2 }}{{ list[1] }}{{ list | length }}", {},
             WithSecret());
  ASSERT_OK(rendered);
  EXPECT_EQ(rendered->text, "p1open2");
  EXPECT_FALSE(rendered->sensitive);
}

TEST(SecretTest, ABlockThatPrintsASecretSetsASecret) {
  const auto rendered =
      Render("{% set x %}k={{ secret('a') }}{% endset %}{% set y %}b{% endset %}{{ y }}", {},
             WithSecret());
  ASSERT_OK(rendered);
  EXPECT_EQ(rendered->text, "b");
  EXPECT_FALSE(rendered->sensitive);
  const auto printed =
      Render("{% set x %}k={{ secret('a') }}{% endset %}{{ x }}", {}, WithSecret());
  ASSERT_OK(printed);
  EXPECT_EQ(printed->text, "k=a0");
  EXPECT_TRUE(printed->sensitive);
}

TEST(SecretTest, WhatIsMadeFromASecretIsASecret) {
  const std::pair<const char*, const char*> kCases[] = {
      {"secret('a')", "a0"},
      {"secret('a') ~ public", "a0p"},
      {"public ~ secret('a')", "pa0"},
      {"secret('a') + 'x'", "a0x"},
      {"secret('a') * 2", "a0a0"},
      {"'%s!' % secret('a')", "a0!"},
      {"secret('a') | upper", "A0"},
      {"secret('a') | b64encode", "YTA="},
      {"secret('5') | int", "50"},
      {"secret('a') | default('x')", "a0"},
      {"secret('a') | hash('sha256')",
       "8b77ea07baea01e72d1f149c0ec99d10ad7cf6cf9a46b1abd1c8ce7d3b51d5f5"},
      {"secret('a')[0]", "a"},
      {"secret('a')[::-1]", "0a"},
      {"secret('a').upper()", "A0"},
      {"secret('a').split('0') | first", "a"},
      {"list | join('-')", "k1-open"},
      {"list | first", "k1"},
      {"list | string", "['k1', 'open']"},
      {"list | tojson", "[\"k1\", \"open\"]"},
      {"'x' | replace('x', secret('a'))", "a0"},
      {"[secret('a')] | map('upper') | first", "A0"},
      {"secret('a') | quote", "a0"},
      {"{'k': secret('a')} | to_json", "{\"k\": \"a0\"}"},
      {"{'k': secret('a')} | to_nice_json", "{\n    \"k\": \"a0\"\n}"},
      {"{'k': secret('a')} | to_nice_yaml", "k: a0\n"},
      {"[secret('1')] | to_json | from_json | first", "10"},
      {"secret('a') | comment", "#\n# a0\n#"},
      {"secret('a/b') | basename", "b0"},
      {"secret('a/b') | dirname", "a"},
      {"[secret('a')] | union(['x']) | first", "a0"},
      {"[secret('a')] | zip(['x']) | flatten | first", "a0"},
      {"({} | combine({'k': secret('a')})).k", "a0"},
      {"({'k': secret('a')} | dict2items | first).value", "a0"},
      {"([{'key': 'k', 'value': secret('a')}] | items2dict).k", "a0"},
      {"('public' | password_hash('sha512', secret('salt'))).split('$')[2]", "salt0"},
  };
  for (const auto& [expression, bytes] : kCases) {
    SCOPED_TRACE(expression);
    const auto value = EvaluateExpression(expression, {.file = "f"}, WithSecret());
    ASSERT_OK(value);
    ASSERT_TRUE(IsSecret(*value)) << value->dump();
    if (std::string(expression).find("hash") == std::string::npos) {
      EXPECT_EQ(SecretBytes(*value), bytes);
    } else {
      EXPECT_EQ(SecretBytes(*value).size(), std::string(bytes).size());
    }
  }
}

TEST(SecretTest, TheHashOfASecretIsASecretAndStaysTheSame) {
  const auto hash = [] {
    return EvaluateExpression("secret('pw') | password_hash('sha512', 'salt')", {}, WithSecret());
  };
  ASSERT_OK(hash());
  EXPECT_TRUE(IsSecret(*hash()));
  EXPECT_EQ(*hash(), *hash());
}

// Keys of dictionaries are never secrets: they would be shown.
TEST(SecretTest, TheJsonOfASecretHoldsNoDictionary) {
  Scope scope;
  scope.Set("s", MakeSecret(R"([{"hunter2": 1}])"));
  EXPECT_THAT(EvaluateExpression("s | from_json", {}, scope),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(SecretTest, AFilteredSetBlockWithASecretIsASecret) {
  const auto rendered =
      Render("{% set x | upper %}k={{ secret('a') }}{% endset %}{{ x }}", {}, WithSecret());
  ASSERT_OK(rendered);
  EXPECT_EQ(rendered->text, "K=A0");
  EXPECT_TRUE(rendered->sensitive);
}

TEST(SecretTest, RenderValueOfMixedTextIsASecret) {
  const auto value = RenderValue("user:{{ secret('pw') }}", {}, WithSecret());
  ASSERT_OK(value);
  ASSERT_TRUE(IsSecret(*value));
  EXPECT_EQ(SecretBytes(*value), "user:pw0");
}

TEST(SecretTest, ListsKeepTheTypeOfTheirElements) {
  const auto value = RenderValue("{{ list | reverse }}", {}, WithSecret());
  ASSERT_OK(value);
  EXPECT_EQ(Redact(*value), Value::array({"open", "[secret]"}));
}

TEST(SecretTest, BytesThatAreNoTextSurvive) {
  const std::string bytes("\x00\xff\xfe\n", 4);
  Scope scope;
  scope.Set("key", MakeSecret(bytes));
  const auto rendered = Render("{{ key }}", {}, scope);
  ASSERT_OK(rendered);
  EXPECT_EQ(rendered->text, bytes);
}

TEST(SecretTest, ALoopOverASecretStaysSecret) {
  const auto rendered = Render("{% for c in secret('a') %}{{ c }}{% endfor %}", {}, WithSecret());
  ASSERT_OK(rendered);
  EXPECT_TRUE(rendered->sensitive);
}

}  // namespace
}  // namespace muster::tmpl
