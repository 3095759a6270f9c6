#include "cli/render/rollout/rollout_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/cli/render/rollout/sample_rollout.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Not;

std::string PageOf(const v1::Rollout& rollout) {
  return RenderRolloutPage(rollout, kRolloutStart + absl::Minutes(72), absl::UTCTimeZone());
}

int CountOf(const std::string& page, const std::string& text) {
  return static_cast<int>(std::vector<std::string>(absl::StrSplit(page, text)).size()) - 1;
}

TEST(RolloutPage, ShowsWhenEachNodeDidWhat) {
  const std::string page = PageOf(SampleRollout());
  // Without the style, which is the same for every page.
  EXPECT_THAT(page.substr(page.find("<body>")), Said());
}

TEST(RolloutPage, AStepIsOneBarHoweverOftenItsMessageChanges) {
  v1::Rollout rollout = SampleRollout();
  const int before = CountOf(PageOf(rollout), "c002: draining");
  EXPECT_EQ(before, 1);
  AddStep(rollout, 40, "c002", v1::ROLLOUT_STEP_DRAINING, "waits for job 4712 (bob, x)");
  const std::string page = PageOf(rollout);
  EXPECT_EQ(CountOf(page, "c002: draining"), before);
  EXPECT_THAT(page, HasSubstr("c002: draining from 2023-11-14 22:25:20 UTC, 1h 00m\n"
                              "waits for job 4712 (bob, x)"));
}

TEST(RolloutPage, NothingFromElsewhereBecomesMarkup) {
  v1::Rollout rollout = SampleRollout();
  const std::string evil = "waits for job 1 (eve, <script>alert('x')</script>\"&)";
  rollout.mutable_nodes(1)->set_message(evil);
  rollout.mutable_nodes(1)->set_service_before("<script>");
  rollout.mutable_events(6)->set_message(evil);
  rollout.set_message(evil);
  rollout.set_created_by("<script>");
  rollout.mutable_request()->set_playbook("<script>.yaml");
  rollout.mutable_nodes(2)->set_node("<script>");
  const std::string page = PageOf(rollout);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page,
              HasSubstr("waits for job 1 (eve, &lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"
                        "&quot;&amp;)"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(RolloutPage, OneWithoutEventsIsAPage) {
  v1::Rollout rollout = SampleRollout();
  rollout.clear_events();
  rollout.clear_nodes();
  EXPECT_THAT(RenderRolloutPage(rollout, kRolloutStart, absl::UTCTimeZone()), HasSubstr("</html>"));
}

}  // namespace
}  // namespace muster::cli
