#include "agent/burnin/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::burnin {
namespace {

using ::testing::HasSubstr;

struct Parsed {
  bool ok = false;
  int exit_code = -1;
  CommandLine line;
  std::string errors;
};

Parsed ParseWords(std::vector<std::string> words) {
  words.insert(words.begin(), "muster-burnin");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  Parsed parsed;
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  parsed.ok =
      ParseCommandLine(static_cast<int>(argv.size()), argv.data(), parsed.line, parsed.exit_code);
  parsed.errors = ::testing::internal::GetCapturedStderr();
  ::testing::internal::GetCapturedStdout();
  return parsed;
}

TEST(CommandLine, TakesParametersByNameAndBySet) {
  const Parsed parsed =
      ParseWords({"gpu-inventory", "--gpus", "0-3", "--set", "count=4", "--json"});
  ASSERT_TRUE(parsed.ok) << parsed.errors;
  EXPECT_EQ(parsed.line.check->name, "gpu-inventory");
  EXPECT_EQ(parsed.line.parameters.at("gpus"), "0-3");
  EXPECT_EQ(parsed.line.parameters.at("count"), "4");
  EXPECT_TRUE(parsed.line.json);
}

TEST(CommandLine, ValueOfSetMayHaveCommasAndEqualsSigns) {
  const Parsed parsed = ParseWords({"gpu-inventory", "--set", "model=a=b,c"});
  ASSERT_TRUE(parsed.ok) << parsed.errors;
  EXPECT_EQ(parsed.line.parameters.at("model"), "a=b,c");
}

TEST(CommandLine, ListHasEveryCheck) {
  const Parsed parsed = ParseWords({"list"});
  ASSERT_TRUE(parsed.ok);
  EXPECT_EQ(parsed.line.check, nullptr);
  for (const checks::CheckSpec* check : checks::Checks())
    EXPECT_THAT(CheckList(), HasSubstr(std::string(check->name)));
}

TEST(CommandLine, XidsAreHeardForSomeSeconds) {
  const Parsed parsed = ParseWords({"xids", "--seconds", "600"});
  ASSERT_TRUE(parsed.ok) << parsed.errors;
  EXPECT_TRUE(parsed.line.xids);
  EXPECT_EQ(parsed.line.hear_seconds, 600u);
  EXPECT_EQ(ParseWords({"xids", "--seconds", "0"}).exit_code, kExitUsage);
}

TEST(CommandLine, MetricsTakeAFileAndANumber) {
  const Parsed parsed = ParseWords({"metrics", "--expect", "8", "--out", "/x/gpu.prom"});
  ASSERT_TRUE(parsed.ok) << parsed.errors;
  EXPECT_TRUE(parsed.line.metrics);
  EXPECT_EQ(parsed.line.metrics_file, "/x/gpu.prom");
  EXPECT_EQ(parsed.line.expected_gpus, 8u);
  EXPECT_FALSE(ParseWords({"list"}).line.metrics);
}

TEST(CommandLine, KernelErrorsTakeATime) {
  const Parsed parsed = ParseWords({"kernel-errors", "--since", "1234.56"});
  ASSERT_TRUE(parsed.ok) << parsed.errors;
  EXPECT_TRUE(parsed.line.kernel_errors);
  EXPECT_EQ(parsed.line.since_seconds, 1234.56);
  EXPECT_EQ(ParseWords({"kernel-errors", "--since", "-1"}).exit_code, kExitUsage);
  EXPECT_EQ(ParseWords({"kernel-errors", "--since", "noon"}).exit_code, kExitUsage);
}

TEST(CommandLine, HelpIsNoMistake) {
  const Parsed parsed = ParseWords({"gpu-inventory", "--help"});
  EXPECT_FALSE(parsed.ok);
  EXPECT_EQ(parsed.exit_code, 0);
}

struct Mistake {
  std::vector<std::string> words;
  const char* message;
};

class Mistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, EndWith64AndSayWhatIsMeant) {
  const Parsed parsed = ParseWords(GetParam().words);
  EXPECT_FALSE(parsed.ok);
  EXPECT_EQ(parsed.exit_code, kExitUsage);
  EXPECT_THAT(parsed.errors, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, Mistakes,
    ::testing::Values(Mistake{{}, "subcommand"},
                      Mistake{{"gpu-inventroy"}, "did you mean 'gpu-inventory'?"},
                      Mistake{{"gpu-inventory", "--count", "many"}, "is not a number"},
                      Mistake{{"gpu-inventory", "--set", "modle=x"}, "did you mean 'model'?"},
                      Mistake{{"gpu-inventory", "--set", "model"}, "name=value"},
                      Mistake{{"gpu-inventory", "--ranks", "2"}, "checks one node only"},
                      Mistake{{"gpu-inventory", "--rank", "1"}, "--rank must be less"}));

}  // namespace
}  // namespace muster::burnin
