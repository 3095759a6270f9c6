#include "cli/render/plan/diff_fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FoldTexts, LinesOfAllStandOnce) {
  EXPECT_EQ(FoldTexts({{{"a"}, "x\ny\n"}}), "x\ny\n");
  EXPECT_EQ(FoldTexts({{{"n1"}, "@@ 1\n+one\n same\n-gone\n"},
                       {{"n2", "n3"}, "@@ 1\n+two\n+more\n same\n-gone\n"},
                       {{"n4"}, "@@ 1\n same\n-gone\n"}}),
            "@@ 1\n"
            "n1: +one\n"
            "n[2-3]: +two\n"
            "n[2-3]: +more\n"
            " same\n"
            "-gone\n");
  EXPECT_EQ(FoldTexts({{{"a"}, "x"}, {{"b"}, "y"}}), "a: x\nb: y\n");
  EXPECT_EQ(FoldTexts({}), "");
}

TEST(FoldTexts, OfManyThatDifferTheRestIsCounted) {
  std::vector<TextOfNodes> texts;
  for (int i = 1; i <= 30; ++i) {
    texts.push_back({{absl::StrCat("c", i)}, absl::StrCat("head\n+line ", i, "\ntail\n")});
  }
  EXPECT_THAT(FoldTexts(texts), AllOf(HasSubstr("head\nc1: +line 1\n"),
                                      HasSubstr("… and 22 nodes with other differences\ntail\n"),
                                      Not(HasSubstr("+line 30"))));
}

TEST(FoldTexts, TextsThatAreTooLargeToCompareAreStillShown) {
  std::string a, b;
  for (int i = 0; i < 4000; ++i) {
    absl::StrAppend(&a, "a", i, "\n");
    absl::StrAppend(&b, "b", i, "\n");
  }
  EXPECT_THAT(FoldTexts({{{"x"}, a}, {{"y"}, b}}),
              AllOf(HasSubstr("x: a3999\n"), HasSubstr("y: b0\n")));
}

}  // namespace
}  // namespace muster::cli
