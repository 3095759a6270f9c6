#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/checks/catalog.h"
#include "common/checks/parameter_value.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::checks {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::string_view kTypes[] = {"fp16", "fp32"};
constexpr ParameterSpec kParameters[] = {
    {.name = "duration",
     .type = ParameterType::kDuration,
     .default_text = "60s",
     .help = "",
     .min = 1,
     .max = 3600},
    {.name = "size", .type = ParameterType::kSize, .default_text = "", .help = ""},
    {.name = "type",
     .type = ParameterType::kWords,
     .default_text = "fp16",
     .help = "",
     .words = kTypes},
    {.name = "quick", .type = ParameterType::kFlag, .default_text = "false", .help = ""},
};
constexpr CheckSpec kCheck = {.name = "gpu-example",
                              .scope = Scope::kNode,
                              .load = Load::kIdle,
                              .parameters = kParameters,
                              .metrics = {},
                              .help = ""};

TEST(Parameters, HaveDefaultsAndWhatIsGiven) {
  const auto parameters = Parameters::Parse(kCheck, {{"size", "1.5GiB"}, {"type", "fp32, fp16"}});
  ASSERT_OK(parameters.status());
  EXPECT_EQ(parameters->Number("duration"), 60);
  EXPECT_EQ(parameters->Number("size"), 1.5 * (1 << 30));
  EXPECT_THAT(parameters->Words("type"), ElementsAre("fp32", "fp16"));
  EXPECT_FALSE(parameters->Flag("quick"));
  EXPECT_EQ(parameters->texts().size(), 4u);
}

TEST(Parameters, DurationWithoutUnitIsOfSeconds) {
  for (const auto& [given, text, seconds] :
       {std::tuple("60", "1m", 60.0), std::tuple("1.5", "1.5s", 1.5),
        std::tuple("90s", "90s", 90.0)}) {
    const auto parameters = Parameters::Parse(kCheck, {{"duration", given}});
    ASSERT_OK(parameters.status());
    EXPECT_EQ(parameters->Number("duration"), seconds);
    EXPECT_EQ(parameters->Word("duration"), text);
  }
}

TEST(Parameters, EmptyNumberIsNone) {
  const auto parameters = Parameters::Parse(kCheck, {});
  ASSERT_OK(parameters.status());
  EXPECT_EQ(parameters->OptionalNumber("size"), std::nullopt);
}

struct Refusal {
  const char* name;
  const char* text;
  const char* message;
};

class RefusedParameters : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedParameters, SayWhatIsWanted) {
  const Refusal& refusal = GetParam();
  EXPECT_THAT(
      Parameters::Parse(kCheck, {{refusal.name, refusal.text}}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, AllOf(Said(), HasSubstr(refusal.message))));
}

INSTANTIATE_TEST_SUITE_P(All, RefusedParameters,
                         ::testing::Values(Refusal{"duraton", "60s", "did you mean 'duration'?"},
                                           Refusal{"duration", "soon", "a duration such as 60s"},
                                           Refusal{"duration", "inf", "a duration such as 60s"},
                                           Refusal{"duration", "2h", "at most 1h"},
                                           Refusal{"duration", "3601", "at most 1h"},
                                           Refusal{"duration", "-60", "at least 1s"},
                                           Refusal{"duration", "nan", "a duration such as 60s"},
                                           Refusal{"duration", "1ms", "at least 1s"},
                                           Refusal{"size", "1 parsec", "a size such as"},
                                           Refusal{"size", "-1GiB", "a size such as"},
                                           Refusal{"type", "fp61", "one of fp16, fp32"},
                                           Refusal{"quick", "yes", "true or false"}));

}  // namespace
}  // namespace muster::checks
