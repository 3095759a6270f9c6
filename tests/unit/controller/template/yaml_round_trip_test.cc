// What to_nice_yaml writes is read back by our own YAML as the same value.
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/yaml/document.h"
#include "common/yaml/value.h"
#include "controller/template/template.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::tmpl {
namespace {

// Makes values out of everything that YAML reads in more than one way.
class ValueMaker {
 public:
  explicit ValueMaker(unsigned seed) : random_(seed) {}

  Value Any(int depth) {
    const int kind = Below(depth > 0 ? 10 : 8);
    switch (kind) {
      case 0:
        return Value(Below(2) == 0);
      case 1:
        return Value(nullptr);
      case 2:
        return Value(static_cast<int64_t>(random_()) - static_cast<int64_t>(random_()));
      case 3:
        return Value((static_cast<double>(Below(2'000)) - 1'000) * kScales[Below(5)]);
      case 8: {
        Value list = Value::array();
        for (int i = Below(4); i > 0; --i) list.push_back(Any(depth - 1));
        return list;
      }
      case 9: {
        Value map = Value::object();
        for (int i = Below(4); i > 0; --i) map[Text()] = Any(depth - 1);
        return map;
      }
      default:
        return Value(Text());
    }
  }

  std::string Text() {
    if (Below(4) == 0) return kWords[Below(sizeof kWords / sizeof kWords[0])];
    std::string text;
    const int pieces = Below(Below(8) == 0 ? 80 : 6);
    for (int i = 0; i < pieces; ++i) text += kPieces[Below(sizeof kPieces / sizeof kPieces[0])];
    return text;
  }

  int Below(size_t limit) { return static_cast<int>(random_() % limit); }

 private:
  static constexpr double kScales[] = {1, 0.001, 1e20, 1e-20, 1.0 / 3};
  static constexpr const char* kWords[] = {
      "yes", "no",   "on",   "Off", "true", "null",       "~",     "=",    "<<",    "0o17",
      "1e3", "017",  "0x1f", "1.",  "+.5",  "2001-01-01", "1:30",  ".inf", ".nan",  "1_000",
      "---", "--- ", "...",  "-",   "?",    ":",          "- - -", "{}",   "[a, b", "!!str a",
  };
  static constexpr const char* kPieces[] = {
      " ",
      "  ",
      "\n",
      "a",
      "word",
      "long-word-of-some-length",
      "'",
      "\"",
      "\\",
      ":",
      "#",
      "-",
      "?",
      ",",
      "[",
      "]",
      "{",
      "}",
      "&",
      "*",
      "!",
      "|",
      ">",
      "%",
      "@",
      "`",
      "\t",
      "\r",
      "\x01",
      "\x7F",
      "é",
      "日",
      "😀",
      "1",
      ".",
      "=",
      "~",
      "\xC2\x85",
      "\xE2\x80\xA8",
      "\xEF\xBB\xBF",
      ": ",
      " #",
      "- ",
      "? ",
      "\n ",
      " \n",
      "\n\n",
      "\n- ",
      "\n# ",
      "\xC2\xA0",
  };
  std::mt19937 random_;
};

TEST(YamlRoundTripTest, OurYamlReadsBackTheSameValue) {
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    ValueMaker maker(seed);
    const Value value = maker.Any(5);
    Scope scope;
    scope.Set("v", value);
    // Keys stay in their order, which equality of these values counts.
    const std::string source =
        absl::StrCat("{{ v | to_nice_yaml(sort_keys=false, indent=", 2 + maker.Below(8),
                     ", width=", 20 + maker.Below(100), ") }}");
    const auto text = Render(source, {.file = "f"}, scope);
    ASSERT_OK(text);
    const auto read = yaml::Document::Parse("f", text->text);
    ASSERT_TRUE(read.ok()) << "seed " << seed << ": " << read.status() << "\n"
                           << value.dump() << "\n"
                           << text->text;
    ASSERT_EQ(yaml::ToValue(read->root()).dump(), value.dump()) << "seed " << seed << ":\n"
                                                                << text->text;
  }
}

}  // namespace
}  // namespace muster::tmpl
