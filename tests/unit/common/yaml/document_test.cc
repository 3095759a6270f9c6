#include "common/yaml/document.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::yaml {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Document, KeepsValuesQuotesAndPlaces) {
  const auto document = Document::Parse("a.yaml",
                                        "name: c001\n"
                                        "mode: \"0400\"\n"
                                        "list:\n"
                                        "  - one\n"
                                        "  - {two: 2}\n"
                                        "empty:\n"
                                        "text: |\n"
                                        "  line\n");
  ASSERT_OK(document);
  const Node& root = document->root();
  ASSERT_TRUE(root.IsMap());
  EXPECT_EQ(root.Find("name")->text(), "c001");
  EXPECT_FALSE(root.Find("name")->quoted());
  EXPECT_TRUE(root.Find("mode")->quoted());
  EXPECT_TRUE(root.Find("text")->quoted());
  EXPECT_EQ(root.Find("text")->text(), "line\n");
  EXPECT_TRUE(root.Find("empty")->IsNull());
  EXPECT_EQ(root.Find("empty")->mark().line, 6);
  EXPECT_EQ(root.Find("absent"), nullptr);

  const Node& list = *root.Find("list");
  ASSERT_EQ(list.items().size(), 2u);
  EXPECT_EQ(list.items()[1].mark().line, 5);
  EXPECT_EQ(list.items()[1].mark().column, 5);
  const Entry& two = *list.items()[1].FindEntry("two");
  EXPECT_EQ(two.key_mark.column, 6);
  EXPECT_EQ(two.value.mark().column, 11);
}

TEST(Document, AnEmptyTextIsNull) {
  for (const char* text : {"", "\n", "# nothing\n", "---\n"}) {
    const auto document = Document::Parse("a.yaml", text);
    ASSERT_OK(document);
    EXPECT_TRUE(document->root().IsNull()) << text;
  }
}

TEST(Document, AnEndThatIsMissingNamesItsBeginning) {
  // yaml-cpp notices on line 4; the missing bracket belongs two lines above.
  EXPECT_THAT(Document::Parse("a.yaml", "a: 1\nvars: {x: 1,\n  y: [1, 2]\nnodes:\n  c001: {}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Document::Parse("a.yaml", "a: {b: {c: 1}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(Document, AliasesAreExpanded) {
  const auto document = Document::Parse("a.yaml", "a: &x {k: v}\nb: *x\n");
  ASSERT_OK(document);
  EXPECT_EQ(document->root().Find("b")->Find("k")->text(), "v");
}

TEST(Document, ErrorsShowTheLine) {
  const auto document = Document::Parse("site/cluster.yaml", "a: 1\nnode:  c001\n");
  ASSERT_OK(document);
  EXPECT_EQ(document->Error(*document->root().Find("node"), "no such node").message(),
            "site/cluster.yaml:2:8: no such node\n"
            "  2 | node:  c001\n"
            "    |        ^");
}

struct BadCase {
  const char* text;
  const char* error;
};

TEST(Document, RefusesWhatNobodyMeans) {
  const BadCase cases[] = {
      {"a: 1\na: 2\n", "f.yaml:2:1: duplicate key 'a', first on line 1"},
      {"a: b: c\n", "f.yaml:1:5: illegal map value"},
      {"a: [1, 2\n", "f.yaml:"},
      {"a:\n\t- b\n", "f.yaml:2:2: illegal block entry (indent with spaces, not tabs)"},
      {"a: 1\n---\nb: 2\n", "a second document"},
      {"a: !python/object x\n", "f.yaml:1:4: the tag '!python/object' is not supported"},
      {"a: &x 1\nb:\n  <<: *x\n", "f.yaml:3:3: merge keys"},
      {"a: {{ name }}\n", "needs quotes"},
      {"a: *nobody\n", "f.yaml:1:4: "},
      {"a: &x [*x]\n", "an alias inside its own value"},
      {"~: 1\n", "a key is missing"},
      {"a: \x01\n", "f.yaml:1:4: control character 0x01"},
      {"a: \x04\nb: 1\n", "f.yaml:1:4: control character 0x04"},
      {"a: \xff\n", "f.yaml:1:4: not valid UTF-8"},
      {"a: \xed\xa0\x80\n", "not valid UTF-8"},
      {"a: \xc0\x80\n", "not valid UTF-8"},
      {"\"a", "f.yaml:1:"},
  };
  for (const BadCase& c : cases) {
    SCOPED_TRACE(c.text);
    const auto document = Document::Parse("f.yaml", c.text);
    EXPECT_THAT(document,
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(c.error))));
  }
  EXPECT_THAT(Document::Parse("f.yaml", absl::string_view("a: \0b", 5)),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST(Document, BoundsItsCost) {
  constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string last = absl::StrCat("*a", i - 1);
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [", last);
    for (int j = 1; j < 10; ++j) absl::StrAppend(&bomb, ",", last);
    absl::StrAppend(&bomb, "]\n");
  }
  EXPECT_THAT(Document::Parse("f.yaml", bomb), StatusIs(kExhausted, Said()));

  EXPECT_THAT(Document::Parse("f.yaml", std::string(65, '[') + std::string(65, ']')),
              StatusIs(kExhausted, Said()));
  std::string stairs = "a: &a0 [x]\nb:\n";
  for (int i = 1; i < 70; ++i) absl::StrAppend(&stairs, "- &a", i, " [*a", i - 1, "]\n");
  EXPECT_THAT(Document::Parse("f.yaml", stairs), StatusIs(kExhausted, Said()));

  EXPECT_THAT(Document::Parse("f.yaml", "a: [1, 2, 3]", {.max_nodes = 4}),
              StatusIs(kExhausted, Said()));
  EXPECT_THAT(Document::Parse("f.yaml", "a: 12", {.max_bytes = 4}), StatusIs(kExhausted, Said()));
}

TEST(Document, WindowsTextIsRead) {
  const auto document = Document::Parse("f.yaml", "\xEF\xBB\xBFname: c001\r\nrole: login\r\n");
  ASSERT_OK(document);
  EXPECT_EQ(document->root().Find("name")->text(), "c001");
  EXPECT_EQ(document->root().Find("role")->text(), "login");
}

TEST(Document, APartShowsTheTextOfTheWhole) {
  auto whole = Document::Parse("f.yaml", "a: 1\nb:\n  c: wrong\n");
  ASSERT_OK(whole);
  const Document part = whole->At(*whole->root().Find("b"));
  EXPECT_EQ(part.root().entries().size(), 1u);
  EXPECT_EQ(part.file_name(), "f.yaml");
  const Node& c = *part.root().Find("c");
  EXPECT_EQ(part.Error(c, "no"), whole->Error(c, "no"));
}

}  // namespace
}  // namespace muster::yaml
