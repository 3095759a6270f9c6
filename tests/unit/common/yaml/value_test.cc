#include "common/yaml/value.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/yaml/document.h"

namespace muster::yaml {
namespace {

struct Case {
  const char* yaml;
  const char* json;
};

TEST(ToValue, TypesPlainScalars) {
  const Case cases[] = {
      {"~", "null"},
      {"null", "null"},
      {"true", "true"},
      {"False", "false"},
      {"yes", "\"yes\""},
      {"on", "\"on\""},
      {"\"true\"", "\"true\""},
      {"'12'", "\"12\""},
      {"12", "12"},
      {"-3", "-3"},
      {"+7", "7"},
      {"+-7", "\"+-7\""},
      {"0", "0"},
      {"0400", "\"0400\""},
      {"-012", "\"-012\""},
      {"0x1F", "31"},
      {"0o17", "15"},
      {"0x", "\"0x\""},
      {"0x-1", "\"0x-1\""},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "\"9223372036854775808\""},
      {"1.5", "1.5"},
      {".5", "0.5"},
      {"1.", "1.0"},
      {"1e3", "1000.0"},
      {"1e999", "\"1e999\""},
      {".inf", "\".inf\""},
      {"01.5", "\"01.5\""},
      {"1.2.3", "\"1.2.3\""},
      {"e5", "\"e5\""},
      {".", "\".\""},
      {"10.0.0.1", "\"10.0.0.1\""},
      {"2021-01-01", "\"2021-01-01\""},
      {"a {{ b }} c", "\"a {{ b }} c\""},
      {"[1, [a], {k: v, j: 2}]", "[1,[\"a\"],{\"k\":\"v\",\"j\":2}]"},
      {"{}", "{}"},
      {"[]", "[]"},
      {"{1: a, true: b}", "{\"1\":\"a\",\"true\":\"b\"}"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.yaml);
    const auto document = Document::Parse("f.yaml", c.yaml);
    ASSERT_TRUE(document.ok()) << document.status();
    EXPECT_EQ(ToValue(document->root()).dump(), c.json);
  }
}

TEST(ToValue, APlainValueIsTypedAlike) {
  EXPECT_EQ(PlainValue("535"), 535);
  EXPECT_EQ(PlainValue("").is_null(), true);
  EXPECT_EQ(PlainValue("true"), true);
  EXPECT_EQ(PlainValue("a=b"), "a=b");
}

}  // namespace
}  // namespace muster::yaml
