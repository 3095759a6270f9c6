#include "controller/power/redfish/redfish_answer.h"

#include <string>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::power {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

TEST(RedfishAnswerTest, PathsStayOnTheService) {
  for (const char* path : {"/redfish/v1/Systems/1", "/redfish/v1/Systems/437XR1138R2/",
                           "/redfish/v1/Systems/System.Embedded.1"})
    EXPECT_TRUE(IsRedfishPath(path)) << path;
  for (const std::string& path :
       {std::string(), std::string("https://10.0.0.1/redfish/v1"),
        std::string("//10.0.0.1/redfish/"), std::string("/redfish//10.0.0.1"),
        std::string("/redfish/../admin"), std::string("/redfish/v1?x=1"),
        std::string("/redfish/v1#x"), std::string("/redfish/ v1"),
        std::string("/redfish/@10.0.0.1"), std::string("/other"),
        absl::StrCat("/redfish/", std::string(300, 'a'))})
    EXPECT_FALSE(IsRedfishPath(path)) << path;
}

TEST(RedfishAnswerTest, FindsTheSystem) {
  EXPECT_EQ(*ParseRedfishRoot(R"({"Systems": {"@odata.id": "/redfish/v1/Systems/"}})"),
            "/redfish/v1/Systems/");
  for (const char* bad : {"", "{}", R"({"Systems": "/redfish/v1/Systems"})",
                          R"({"Systems": {"@odata.id": "//10.0.0.1/redfish/"}})"})
    EXPECT_EQ(ParseRedfishRoot(bad).status().code(), kRefused) << bad;
  constexpr char kOne[] = R"({"Members": [{"@odata.id": "/redfish/v1/Systems/Self"}]})";
  constexpr char kTwo[] =
      R"({"Members": [{"@odata.id": "/redfish/v1/Systems/1"}, {"@odata.id": "/redfish/v1/Systems/HGX_0/"}]})";
  EXPECT_EQ(*ParseRedfishSystems(kOne, ""), "/redfish/v1/Systems/Self");
  EXPECT_EQ(*ParseRedfishSystems(kTwo, "1"), "/redfish/v1/Systems/1");
  EXPECT_EQ(*ParseRedfishSystems(kTwo, "HGX_0"), "/redfish/v1/Systems/HGX_0/");
  EXPECT_THAT(ParseRedfishSystems(kTwo, ""), StatusIs(kRefused, Said()));
  EXPECT_THAT(ParseRedfishSystems(kTwo, "2"), StatusIs(kRefused, Said()));
  EXPECT_THAT(ParseRedfishSystems(R"({"Members": []})", ""), StatusIs(kRefused, Said()));
  for (const char* bad : {"", "[]", "{}", R"({"Members": 1})", R"({"Members": [1]})",
                          R"({"Members": [{"@odata.id": "https://10.0.0.1/x"}]})"})
    EXPECT_EQ(ParseRedfishSystems(bad, "").status().code(), kRefused) << bad;
}

TEST(RedfishAnswerTest, ReadsASystem) {
  const auto system = ParseRedfishSystem(R"({
    "PowerState": "On", "IndicatorLED": "Off", "Boot": {"BootSourceOverrideTarget": "None"},
    "Actions": {"#ComputerSystem.Reset": {"target": "/redfish/v1/Systems/1/Actions/Reset",
      "ResetType@Redfish.AllowableValues": ["On", "ForceOff", 7]}}})");
  ASSERT_OK(system);
  EXPECT_EQ(system->state, PowerState::kOn);
  EXPECT_EQ(system->reset_path, "/redfish/v1/Systems/1/Actions/Reset");
  EXPECT_THAT(system->reset_types, ElementsAre("ForceOff", "On"));
  EXPECT_EQ(system->light, RedfishLight::kIndicatorLed);
  EXPECT_TRUE(system->boot.can_override);
  EXPECT_FALSE(system->boot.has_mode);

  const auto bare = ParseRedfishSystem(R"({"PowerState": "Off"})");
  ASSERT_OK(bare);
  EXPECT_EQ(bare->state, PowerState::kOff);
  EXPECT_THAT(bare->reset_path, IsEmpty());
  EXPECT_EQ(bare->light, RedfishLight::kNone);
  EXPECT_FALSE(bare->boot.can_override);
  EXPECT_THAT(bare->settings_path, IsEmpty());
}

TEST(RedfishAnswerTest, ReadsWhereTheBootDeviceIsSet) {
  const auto system = ParseRedfishSystem(R"({"PowerState": "On", "@Redfish.Settings":
    {"SettingsObject": {"@odata.id": "/redfish/v1/Systems/Self/SD"}}})");
  ASSERT_OK(system);
  EXPECT_EQ(system->settings_path, "/redfish/v1/Systems/Self/SD");
  const RedfishBoot boot = ParseRedfishBoot(R"({"@odata.etag": "W/\"17\"", "Boot":
    {"BootSourceOverrideTarget": "None", "BootSourceOverrideMode": "UEFI"}})");
  EXPECT_TRUE(boot.can_override);
  EXPECT_TRUE(boot.has_mode);
  EXPECT_EQ(boot.etag, "W/\"17\"");
  const RedfishBoot order = ParseRedfishBoot(R"({"Boot": {"BootOrder": []}})");
  EXPECT_TRUE(order.is_described);
  EXPECT_FALSE(order.can_override);
  EXPECT_FALSE(ParseRedfishBoot("{}").is_described);

  EXPECT_THAT(ParseRedfishSystem(R"({"PowerState": "On", "@Redfish.Settings":
    {"SettingsObject": {"@odata.id": "https://10.0.0.1/redfish/v1"}}})")
                  ->settings_path,
              IsEmpty());
  for (const std::string& etag : {std::string(R"("a\r\nX: y")"), std::string("7"),
                                  absl::StrCat("\"", std::string(200, 'a'), "\"")})
    EXPECT_THAT(ParseRedfishBoot(absl::StrCat(R"({"@odata.etag": )", etag, "}")).etag, IsEmpty())
        << etag;
  for (const char* none : {"", "[]", R"({"Boot": 1})"})
    EXPECT_FALSE(ParseRedfishBoot(none).can_override) << none;
}

TEST(RedfishAnswerTest, WhatIsNeitherOnNorOffIsUnknown) {
  for (const char* state :
       {"\"PoweringOn\"", "\"PoweringOff\"", "\"Paused\"", "null", "1", "\"on\""})
    EXPECT_EQ(ParseRedfishSystem(absl::StrCat("{\"PowerState\": ", state, "}"))->state,
              PowerState::kUnknown)
        << state;
}

TEST(RedfishAnswerTest, RefusesWhatIsNoSystem) {
  EXPECT_THAT(ParseRedfishSystem("<html>"), StatusIs(kRefused, Said()));
  EXPECT_THAT(ParseRedfishSystem("{}"), StatusIs(kRefused, Said()));
  EXPECT_THAT(ParseRedfishSystem(R"({"PowerState": "On", "Actions": {"#ComputerSystem.Reset":
                                     {"target": "https://10.0.0.1/redfish/v1/x"}}})"),
              StatusIs(kRefused, Said()));
  // Deep and long ones cost nothing.
  EXPECT_EQ(ParseRedfishSystem(std::string(500'000, '[')).status().code(), kRefused);
  EXPECT_EQ(ParseRedfishSystem(absl::StrCat(R"({"PowerState": "On", "x": ")",
                                            std::string(kMaxRedfishAnswer, 'x'), "\"}"))
                .status()
                .code(),
            kRefused);
}

TEST(RedfishAnswerTest, ShowsErrorsAsPlainText) {
  EXPECT_EQ(ParseRedfishError(R"({"error": {"message": "general\u001b[31m", "@Message.ExtendedInfo":
                                  [{"Message": "the\nspecial one"}]}})"),
            "the special one");
  EXPECT_EQ(ParseRedfishError(R"({"error": {"message": "general"}})"), "general");
  EXPECT_THAT(ParseRedfishError("nothing"), IsEmpty());
  EXPECT_LE(
      ParseRedfishError(absl::StrCat(R"({"error": {"message": ")", std::string(5000, 'x'), "\"}}"))
          .size(),
      200u);
}

}  // namespace
}  // namespace muster::controller::power
