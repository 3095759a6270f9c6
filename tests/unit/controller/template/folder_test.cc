// Templates of a folder that include each other.
#include "controller/template/folder.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::tmpl {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr auto kRefused = absl::StatusCode::kInvalidArgument;

TemplateFolder Folder(const std::vector<std::pair<std::string, std::string>>& files) {
  TemplateFolder folder;
  for (const auto& [name, text] : files)
    folder.Add(name, text, {.file = absl::StrCat("templates/", name)});
  return folder;
}

// 00.j2 includes 01.j2, and so on; the last includes nothing.
TemplateFolder Chain(int length, absl::string_view end = "x") {
  std::vector<std::pair<std::string, std::string>> files;
  for (int i = 0; i < length; ++i) {
    files.emplace_back(
        absl::StrCat(10 + i, ".j2"),
        i + 1 < length ? absl::StrCat("{% include '", 11 + i, ".j2' %}") : std::string(end));
  }
  return Folder(files);
}

TEST(TemplateFolderTest, NamesAreThoseOfAllIncludedTemplates) {
  TemplateFolder folder = Folder({{"a.j2", "{{ x }}{% include 'b.j2' %}"},
                                  {"b.j2", "{% if facts %}{% include 'c.j2' %}{% endif %}"},
                                  {"c.j2", "{{ node.name }}"}});
  const auto parsed = folder.Parse("a.j2");
  ASSERT_OK(parsed);
  EXPECT_THAT(parsed->names(), ElementsAre("facts", "node", "x"));
}

TEST(TemplateFolderTest, AnErrorWhileRenderingIsInTheIncludedFile) {
  TemplateFolder folder = Folder({{"a.j2", "one\n{% include 'b.j2' %}\n"},
                                  {"b.j2", "{% for i in [1] %}{% include 'c.j2' %}{% endfor %}"},
                                  {"c.j2", "\n  {{ i ~ nowhere }}\n"}});
  const auto parsed = folder.Parse("a.j2");
  ASSERT_OK(parsed);
  EXPECT_THAT(parsed->Render(Scope()),
              StatusIs(kRefused, AllOf(Said(), StartsWith("templates/c.j2:2:10: undefined"))));
}

TEST(TemplateFolderTest, AnErrorInAnIncludedTemplateIsReportedThere) {
  TemplateFolder folder =
      Folder({{"a.j2", "{% include 'b.j2' %}"}, {"b.j2", "\n{{ 1 + }}"}, {"c.j2", "fine"}});
  EXPECT_THAT(folder.Parse("a.j2"), StatusIs(kRefused, StartsWith("templates/b.j2:2:8: ")));
  EXPECT_EQ(folder.Parse("a.j2").status(), folder.Parse("b.j2").status());
  EXPECT_OK(folder.Parse("c.j2"));
}

TEST(TemplateFolderTest, ATemplateThatDoesNotExistIsAnErrorOfTheInclude) {
  TemplateFolder folder = Folder({{"a.j2", "\n{% include 'bb.j2' %}"}, {"b.j2", ""}});
  EXPECT_THAT(folder.Parse("a.j2"), StatusIs(kRefused, Said()));
}

TEST(TemplateFolderTest, ATemplateCannotIncludeItself) {
  TemplateFolder folder = Folder(
      {{"a.j2", "{% include 'b.j2' %}"}, {"b.j2", "{% if x %}{% include 'a.j2' %}{% endif %}"}});
  EXPECT_THAT(folder.Parse("a.j2"), StatusIs(kRefused, Said()));
}

TEST(TemplateFolderTest, IncludesAreTenDeepAtMost) {
  TemplateFolder deepest = Chain(11);
  const auto parsed = deepest.Parse("10.j2");
  ASSERT_OK(parsed);
  EXPECT_EQ(parsed->Render(Scope()).value().text, "x");
  TemplateFolder deeper = Chain(12);
  EXPECT_THAT(deeper.Parse("10.j2"), StatusIs(kRefused, Said()));
  // Whichever comes first, as also those that it includes are parsed.
  TemplateFolder backwards = Chain(12);
  for (int i = 21; i > 10; --i) EXPECT_OK(backwards.Parse(absl::StrCat(i, ".j2")));
  EXPECT_THAT(backwards.Parse("10.j2"), StatusIs(kRefused, HasSubstr("10.j2:1:12: ")));
}

TEST(TemplateFolderTest, IncludedStepsAndTextCount) {
  // Each template includes the next twice: 1024 times the last.
  std::vector<std::pair<std::string, std::string>> files;
  for (int i = 0; i < 10; ++i) {
    const std::string next = absl::StrCat("{% include '", 11 + i, ".j2' %}");
    files.emplace_back(absl::StrCat(10 + i, ".j2"), absl::StrCat(next, next));
  }
  files.emplace_back("20.j2", "{% for i in range(100) %}{{ i }}{% endfor %}");
  TemplateFolder folder = Folder(files);
  const auto parsed = folder.Parse("10.j2");
  ASSERT_OK(parsed);
  EXPECT_OK(parsed->Render(Scope()));
  EXPECT_THAT(parsed->Render(Scope(), {.max_steps = 300'000}), StatusIs(kRefused, Said()));
  EXPECT_THAT(parsed->Render(Scope(), {.max_output = 10'000}), StatusIs(kRefused, Said()));
}

TEST(TemplateFolderTest, ASecretInAnIncludedTemplateMarksTheText) {
  TemplateFolder folder =
      Folder({{"a.j2", "{% include 'b.j2' %}"},
              {"b.j2", "{{ s }}"},
              {"set.j2", "{% set x %}{% include 'b.j2' %}{% endset %}{{ x }}"}});
  Scope scope;
  scope.Set("s", MakeSecret("key"));
  for (const char* name : {"a.j2", "set.j2"}) {
    const auto rendered = folder.Parse(name)->Render(scope);
    ASSERT_OK(rendered);
    EXPECT_EQ(rendered->text, "key");
    EXPECT_TRUE(rendered->sensitive);
  }
}

}  // namespace
}  // namespace muster::tmpl
