#include "tests/unit/agent/resources/resource_test.h"

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Row {
  const char* name;
  const char* before;
  const char* spec;   // besides the path
  const char* after;  // nullptr: in sync
};

std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

const Row kRows[] = {
    {"LiteralIsThere", "a\nb\n", "line: 'a'", nullptr},
    {"LiteralIsNew", "a\n", "line: 'b'", "a\nb\n"},
    {"LiteralInAnEmptyFile", "", "line: 'b'", "b\n"},
    {"PartOfALineIsNoMatch", "ab\n", "line: 'a'", "ab\na\n"},
    {"NoEndAtTheLastLine", "a", "line: 'b'", "a\nb"},
    {"DosEnds", "a\r\nb\r\n", "line: 'c' insert_after: '^a'", "a\r\nc\r\nb\r\n"},
    {"DosEndsMatch", "a\r\n", "line: 'a'", nullptr},
    {"ReplacesTheLastMatch", "p 1\nx\np 2\nend", "line: 'p 3' match: '^p '", "p 1\nx\np 3\nend"},
    {"ReplacesTheLastLineWithoutEnd", "x\np 1", "line: 'p 2' match: '^p'", "x\np 2"},
    {"MatchNeedNotMatchTheLine", "#p 1\n", "line: 'p 2' match: '^#p'", "p 2\n"},
    {"MatchOfNothingButTheLineIsThere", "x\np 2\n", "line: 'p 2' match: '^#p'", nullptr},
    {"MatchOfNothing", "x\n", "line: 'p 2' match: '^p'", "x\np 2\n"},
    {"KeyWithBlank", "Port 22\n", "line: 'Port 23' key: 'Port'", "Port 23\n"},
    {"KeyWithEquals", "a\n b = 1\n", "line: 'b=2' key: 'b'", "a\nb=2\n"},
    {"KeyWithColon", "b: 1\n", "line: 'b: 2' key: 'b'", "b: 2\n"},
    {"KeyAlone", "swap\n", "line: 'swap=1' key: 'swap'", "swap=1\n"},
    {"KeyIsNoPrefix", "Ports 1\n", "line: 'Port 2' key: 'Port'", "Ports 1\nPort 2\n"},
    {"CommentedKeyDoesNotCount", "#Port 1\n", "line: 'Port 2' key: 'Port'", "#Port 1\nPort 2\n"},
    {"InsertsBehindTheLastMatch", "[a]\n1\n[a]\n2\n", "line: 'x' insert_after: '^.a'",
     "[a]\n1\n[a]\nx\n2\n"},
    {"InsertAfterFindsNothing", "1\n", "line: 'x' insert_after: 'no'", "1\nx\n"},
    {"InsertAfterALastLineWithoutEnd", "1", "line: 'x' insert_after: '1'", "1\nx"},
    {"RemovesTheLiteral", "a\nb\na\n", "line: 'a' state: PRESENCE_ABSENT", "b\n"},
    {"RemovesAllMatches", "a 1\nb\na 2\n", "match: '^a' state: PRESENCE_ABSENT", "b\n"},
    {"RemovesByKey", "a=1\nb\n", "key: 'a' state: PRESENCE_ABSENT", "b\n"},
    {"RemovesTheLastWithoutEnd", "a\nb", "line: 'b' state: PRESENCE_ABSENT", "a"},
    {"RemovesTheOnlyLine", "a\n", "line: 'a' state: PRESENCE_ABSENT", ""},
    {"NothingToRemove", "a\n", "line: 'b' state: PRESENCE_ABSENT", nullptr},
};

class LineRowTest : public ResourceTest, public ::testing::WithParamInterface<Row> {};

TEST_P(LineRowTest, ChecksThenConverges) {
  const Row& row = GetParam();
  const std::string step = absl::StrCat("line { path: '/etc/x' ", row.spec, " }");
  node_.files.AddFile("/etc/x", row.before, 0640, 7, 8);
  if (row.after == nullptr) {
    ExpectInSync(step);
    return;
  }
  ExpectConverges(step, {"line"});
  EXPECT_EQ(node_.files.At("/etc/x").content, row.after);
  EXPECT_EQ(node_.files.At("/etc/x").stat.mode, 0640u);
  EXPECT_EQ(node_.files.At("/etc/x").stat.uid, 7u);
}

INSTANTIATE_TEST_SUITE_P(Rows, LineRowTest, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

class LineTest : public ResourceTest {};

TEST_F(LineTest, TellsWhatItChanges) {
  node_.files.AddFile("/etc/x", "a 1\nb\n");
  const auto changes = Make("line { path: '/etc/x' line: 'a 2' key: 'a' }", true)->Check();
  ASSERT_OK(changes);
  ASSERT_EQ(changes->size(), 1u);
  EXPECT_EQ(changes->front().before, "a 1");
  EXPECT_EQ(changes->front().after, "a 2");
  EXPECT_THAT(changes->front().diff, HasSubstr("-a 1\n+a 2\n"));
  node_.files.AddFile("/etc/x", "a 1\na 2\nb\n");
  EXPECT_EQ(Make("line { path: '/etc/x' key: 'a' state: PRESENCE_ABSENT }")->Check()->at(0).before,
            "2 lines");
}

TEST_F(LineTest, MissingFiles) {
  node_.files.AddDirectory("/etc");
  const auto missing = Make("line { path: '/etc/no' line: 'a' }");
  EXPECT_THAT(missing->Check(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  ExpectInSync("line { path: '/etc/no' line: 'a' state: PRESENCE_ABSENT }");
  ExpectConverges("line { path: '/etc/no' line: 'a' create: true }", {"line"});
  EXPECT_EQ(node_.files.At("/etc/no").content, "a\n");
  EXPECT_EQ(node_.files.At("/etc/no").stat.mode, 0644u);
  EXPECT_THAT(Make("line { path: '/no/x' line: 'a' create: true }")->Apply(observer_),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(LineTest, RefusesWhatIsNoFile) {
  node_.files.AddDirectory("/etc/d");
  node_.files.AddFile("/run/resolv", "a\n");
  node_.files.AddLink("/etc/resolv.conf", "/run/resolv");
  EXPECT_THAT(Make("line { path: '/etc/d' line: 'a' }")->Check(),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Make("line { path: '/etc/resolv.conf' line: 'b' }")->Apply(observer_),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_EQ(node_.files.At("/run/resolv").content, "a\n");
}

TEST_F(LineTest, ValidatesTheNewContent) {
  node_.files.AddFile("/etc/x", "a\n");
  node_.processes.On("checker", FakeProcessRunner::Prints("/etc/x.new: line 2: bad\n", 1));
  EXPECT_THAT(Make("line { path: '/etc/x' line: 'b' validate: 'checker' validate: '%s' }")
                  ->Apply(observer_),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_EQ(node_.files.At("/etc/x").content, "a\n");
}

TEST_F(LineTest, NamesWhatIsWrongWithAStep) {
  const struct {
    const char* spec;
    const char* says;
  } kSteps[] = {
      {"path: 'x' line: 'a'", "path: 'x' is not an absolute path"},
      {"path: '/x'", "line: is empty"},
      {"path: '/x' state: PRESENCE_ABSENT", "line: is empty"},
      {"path: '/x' line: 'a\\nb'", "line: contains a line break"},
      {"path: '/x' line: 'a' match: 'a' key: 'a'", "match: excludes key"},
      {"path: '/x' line: 'a' match: '('", "match: '(' is not a regular expression"},
      {"path: '/x' line: 'a' insert_after: '('", "insert_after: '(' is not a regular"},
      {"path: '/x' line: 'a=1' key: 'b'", "the line does not begin with 'b'"},
  };
  for (const auto& row : kSteps) {
    EXPECT_THAT(TryMake(absl::StrCat("line { ", row.spec, " }")).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(row.says))));
  }
}

}  // namespace
}  // namespace muster::agent
