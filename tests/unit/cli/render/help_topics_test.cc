#include "cli/render/help_topics.h"
#include "tests/fixtures/golden_texts.h"

#include <filesystem>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Said;
using ::testing::StartsWith;
using testing::StatusIs;

TEST(HelpTopicsTest, ShowsAPage) {
  const std::string text = FindHelp("Templates").value();
  EXPECT_THAT(text, StartsWith("TEMPLATES\n"));
  EXPECT_THAT(text, HasSubstr("WHAT DIFFERS FROM JINJA2"));
}

TEST(HelpTopicsTest, ShowsASectionUpToTheNext) {
  EXPECT_THAT(FindHelp("symlink").value(),
              AllOf(StartsWith("symlink\n"), HasSubstr("target"), Not(HasSubstr("daemon-reload")),
                    HasSubstr("(muster help playbook)")));
}

TEST(HelpTopicsTest, ASectionHoldsThoseBelowIt) {
  EXPECT_THAT(FindHelp("resources").value(),
              AllOf(HasSubstr("symlink\n"), HasSubstr("hostname\n")));
}

TEST(HelpTopicsTest, ShowsEverySectionOfThatName) {
  EXPECT_THAT(FindHelp("secrets").value(),
              AllOf(HasSubstr("(muster help playbook)"), HasSubstr("(muster help security)")));
}

TEST(HelpTopicsTest, NamesTheNearestTopic) {
  EXPECT_THAT(FindHelp("simlink"), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST(HelpTopicsTest, ListsEveryPageWithASummary) {
  const std::string list = ListHelp();
  std::set<std::string> names;
  for (size_t i = 0; i < kHelpPageCount; ++i) {
    EXPECT_THAT(list, HasSubstr(kHelpPages[i].summary));
    EXPECT_NE(std::string(kHelpPages[i].summary), "");
    names.insert(kHelpPages[i].name);
  }
  EXPECT_EQ(names.size(), kHelpPageCount);
}

TEST(HelpTopicsTest, HasEveryPageButThoseForDevelopers) {
  std::set<std::string> names = {"architecture", "benchmarks"};
  for (size_t i = 0; i < kHelpPageCount; ++i) names.insert(kHelpPages[i].name);
  size_t pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator("docs")) {
    if (entry.path().extension() != ".md") continue;
    EXPECT_EQ(names.count(entry.path().stem().string()), 1u) << entry.path();
    ++pages;
  }
  EXPECT_EQ(names.size(), pages);
  EXPECT_THAT(FindHelp("slurm_worker").value(), HasSubstr("(muster help roles)"));
}

// Behind a fence that nobody closes, headings would be code, and no topics.
TEST(HelpTopicsTest, EveryPageEndsOutsideOfCode) {
  for (size_t i = 0; i < kHelpPageCount; ++i) {
    bool in_code = false;
    for (const absl::string_view line : absl::StrSplit(kHelpPages[i].text, '\n'))
      if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "```")) in_code = !in_code;
    EXPECT_FALSE(in_code) << "docs/" << kHelpPages[i].name << ".md";
  }
}

TEST(HelpTopicsTest, EveryTopicIsFound) {
  for (const std::string& topic : HelpTopics()) EXPECT_OK(FindHelp(topic));
}

TEST(PlainTextTest, ReadsWithoutMarks) {
  EXPECT_EQ(
      PlainText("# A page\n\n**Bold** and [a link](x.md#y), `code`.\n\n```yaml\na: [1](2)\n```\n"),
      "A PAGE\n\nBold and a link, `code`.\n\n    a: [1](2)\n");
  EXPECT_EQ(PlainText("[open, a [b] (c) ](d"), "[open, a [b] (c) ](d\n");
}

}  // namespace
}  // namespace muster::cli
