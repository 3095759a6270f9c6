#include "common/base/text/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

struct ExpandCase {
  const char* expression;
  const char* names;  // separated by blanks
};

TEST(Hostlist, Expands) {
  const ExpandCase cases[] = {
      {"c001", "c001"},
      {"c[001-003,020]", "c001 c002 c003 c020"},
      {"c[8-11]", "c8 c9 c10 c11"},
      {"c[08-11]", "c08 c09 c10 c11"},
      {"r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02"},
      {"login1,c[1-2]-ib", "login1 c1-ib c2-ib"},
      {"c1,c1,c[1-2]", "c1 c2"},
      {"node-a.b_c", "node-a.b_c"},
  };
  for (const ExpandCase& c : cases) {
    SCOPED_TRACE(c.expression);
    const auto names = ExpandHostlist(c.expression);
    ASSERT_TRUE(names.ok()) << names.status();
    EXPECT_EQ(absl::StrJoin(*names, " "), c.names);
  }
}

TEST(Hostlist, NamesThePlaceOfAnError) {
  const ExpandCase cases[] = {
      {"", "column 1: empty"},
      {"c[3-1]", "column 3: range 3-1 runs backwards"},
      {"c[1-", "column 5: expected the last number"},
      {"c[", "column 2: '[' is never closed"},
      {"c[1", "column 2: '[' is never closed"},
      {"c]1", "column 2: ']' without '['"},
      {"c[a]", "column 3: expected a number"},
      {"c1,,c2", "column 4: a host name is missing"},
      {"c 1", "column 2: a host name cannot contain ' '"},
      {"c[0-999999]", "more than 65536 names"},
      {"c[0-999][0-999]", "more than 65536 names"},
      {"c[1-99999999999999]", "more than 12 digits"},
  };
  for (const ExpandCase& c : cases) {
    SCOPED_TRACE(c.expression);
    EXPECT_THAT(std::string(ExpandHostlist(c.expression).status().message()), HasSubstr(c.names));
  }
}

// Some thousand ranges in one bracket held gigabytes before they were counted.
TEST(Hostlist, BoundsWhatABracketHoldsBeforeItEnds) {
  const auto joined = [](const std::vector<std::string>& parts) {
    return absl::StrCat("c[", absl::StrJoin(parts, ","), "]");
  };
  const std::string too_many = "more than 65536 names";
  for (const std::string& expression :
       {joined(std::vector<std::string>(7000, "1-65536")), joined({"1-65536", "1"}),
        joined({"1", "1-65536"}), joined(std::vector<std::string>(65537, "1")) + "-ib"}) {
    SCOPED_TRACE(expression.substr(0, 20));
    EXPECT_THAT(std::string(ExpandHostlist(expression).status().message()), HasSubstr(too_many));
  }
  EXPECT_EQ(ExpandHostlist("c[1-65536]")->size(), 65536u);
  EXPECT_EQ(ExpandHostlist("c[1-32768,32769-65535,7]x")->size(), 65535u);
  EXPECT_THAT(std::string(ExpandHostlist("c[1-65536],c1").status().message()), HasSubstr(too_many));
}

TEST(Hostlist, BoundsTheLengthOfAName) {
  const std::string longest(255, 'x');
  EXPECT_EQ(ExpandHostlist(longest)->size(), 1u);
  for (const std::string& text :
       {longest + "x", "c[1-65536]" + longest, "c[1-10][" + std::string(255, '0') + "]"}) {
    EXPECT_THAT(std::string(ExpandHostlist("a," + text).status().message()),
                HasSubstr("column 3: a name has more than 255"));
  }
}

TEST(Hostlist, Folds) {
  EXPECT_EQ(FoldHostlist({"c003", "c001", "c002", "x"}), "c[001-003],x");
  EXPECT_EQ(FoldHostlist({"c1", "c2", "c10"}), "c[1-2],c10");
  EXPECT_EQ(FoldHostlist({"r1n1", "r1n2", "r2n1", "r2n2"}), "r1n[1-2],r2n[1-2]");
  EXPECT_EQ(FoldHostlist({"001", "002"}), "[001-002]");
  EXPECT_EQ(FoldHostlist({}), "");
}

// Slurm calls "c[1-2,4]-ib" and "node[1-3]a" invalid host lists.
TEST(Hostlist, FoldsNothingWithATextBehindTheNumber) {
  EXPECT_EQ(FoldHostlist({"c1-ib", "c2-ib", "c4-ib"}), "c1-ib,c2-ib,c4-ib");
  EXPECT_EQ(FoldHostlist({"node1a", "node2a", "node3"}), "node1a,node2a,node3");
  EXPECT_EQ(FoldHostlist({"c1.cluster", "c2.cluster"}), "c1.cluster,c2.cluster");
}

TEST(Hostlist, FoldingThenExpandingKeepsTheNames) {
  const auto names = ExpandHostlist("r[1-3]n[01-16],login[1-2],gpu7");
  ASSERT_TRUE(names.ok());
  auto again = ExpandHostlist(FoldHostlist(*names));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(*again, ::testing::UnorderedElementsAreArray(*names));
}

}  // namespace
}  // namespace muster
