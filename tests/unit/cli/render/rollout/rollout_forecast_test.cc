#include "cli/render/rollout/rollout_forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixtures/golden_texts.h"
#include "tests/unit/cli/render/rollout/sample_rollout.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Not;

v1::RolloutForecast& AddForecast(v1::PreviewRolloutResponse& preview, const std::string& node,
                                 uint32_t wave, const std::string& service = "in service") {
  v1::RolloutForecast& forecast = *preview.add_nodes();
  forecast.set_node(node);
  forecast.set_wave(wave);
  forecast.set_service(service);
  forecast.set_connected(true);
  return forecast;
}

v1::SlurmJobInfo Job(const std::string& id, const std::string& user, const std::string& name,
                     int minutes_left) {
  v1::SlurmJobInfo job;
  job.set_id(id);
  job.set_user(user);
  job.set_name(name);
  if (minutes_left > 0) job.set_seconds_left(static_cast<uint64_t>(60 * minutes_left));
  return job;
}

v1::PreviewRolloutResponse SamplePreview() {
  v1::PreviewRolloutResponse preview;
  preview.set_cluster("lab");
  *preview.mutable_rollout() = SampleRollout();
  preview.mutable_rollout()->clear_rollout_id();
  AddForecast(preview, "c001", 0);
  for (const char* node : {"c002", "c003"}) {
    v1::RolloutForecast& forecast = AddForecast(preview, node, 1);
    *forecast.add_jobs() = Job("4711", "ann", "train", 190);
    *forecast.mutable_drain() = ToProtoDuration(absl::Minutes(190));
  }
  AddForecast(preview, "c004", 1, "drained by root: bad disk");
  AddForecast(preview, "c005", 2, "not validated").set_connected(false);
  v1::RolloutForecast& last = AddForecast(preview, "c006", 2);
  *last.add_jobs() = Job("12", "bob", "short", 5);
  *last.mutable_drain() = ToProtoDuration(absl::Minutes(5));
  *preview.mutable_longest_drain() = ToProtoDuration(absl::Minutes(190));
  return preview;
}

TEST(RolloutForecast, ShowsWavesLimitsAndTheJobsInTheWay) {
  EXPECT_THAT(RenderForecast(SamplePreview()), Said());
  EXPECT_EQ(UpdateQuestion(SamplePreview()),
            "Update 6 nodes of cluster lab, c[001-006], at most 2 at once?");
}

TEST(RolloutForecast, ShowsEveryLimitThatWasAskedFor) {
  v1::PreviewRolloutResponse preview = SamplePreview();
  v1::CreateRolloutRequest& request = *preview.mutable_rollout()->mutable_request();
  request.clear_suite();
  request.add_tags("nvidia");
  request.add_windows("Sat 22:00-06:00");
  request.add_windows("Mon-Fri 18:00-07:00");
  *request.mutable_soak() = ToProtoDuration(absl::Minutes(10));
  *request.mutable_drain_timeout() = ToProtoDuration(absl::Hours(4));
  request.set_on_timeout(v1::DRAIN_TIMEOUT_ACTION_SKIP);
  preview.mutable_rollout()->clear_previous_bundle_sha256();
  EXPECT_THAT(RenderForecast(preview), Said());
}

TEST(RolloutForecast, SaysHowLongDrainingTakesOrWhyThatIsNotKnown) {
  v1::PreviewRolloutResponse preview = SamplePreview();
  preview.mutable_nodes(1)->mutable_jobs(0)->clear_seconds_left();
  preview.mutable_nodes(1)->clear_drain();
  preview.clear_longest_drain();
  EXPECT_THAT(RenderForecast(preview), HasSubstr("no known end: jobs without a time limit"));
  EXPECT_THAT(RenderForecast(preview), HasSubstr("no known limit"));
  for (v1::RolloutForecast& node : *preview.mutable_nodes()) node.clear_jobs();
  EXPECT_THAT(RenderForecast(preview), HasSubstr("at once: no jobs are in the way"));
  EXPECT_THAT(RenderForecast(preview), Not(HasSubstr("TIME LEFT")));
  preview.set_jobs_unknown("slurmctld does not answer");
  EXPECT_THAT(RenderForecast(preview), HasSubstr("not known: slurmctld does not answer"));
}

TEST(RolloutForecast, SaysHowLongTheWholeTakesAndWhatThatAssumes) {
  v1::PreviewRolloutResponse preview = SamplePreview();
  v1::RolloutEstimate& estimate = *preview.mutable_estimate();
  *estimate.mutable_total() = ToProtoDuration(absl::Hours(9));
  const auto takes = [&] {
    const std::string text = RenderForecast(preview);
    const size_t begin = text.find("takes ");
    return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_THAT(takes(), Said()) << "nothing was measured";
  *estimate.mutable_node_update() = ToProtoDuration(absl::Minutes(21));
  estimate.set_measured_in("u-11112222");
  EXPECT_THAT(takes(), Said());
  estimate.clear_total();
  estimate.set_endless("c002 waits for job 4711 (ann, train)");
  estimate.set_left_out(1);
  EXPECT_THAT(takes(), Said());
  preview.clear_estimate();
  EXPECT_THAT(takes(), ::testing::IsEmpty());
}

TEST(RolloutForecast, ListsJobsThatTakeLongestAndCountsTheRest) {
  v1::PreviewRolloutResponse preview = SamplePreview();
  for (int job = 0; job < 50; ++job)
    *preview.mutable_nodes(0)->add_jobs() = Job(std::to_string(100 + job), "eve", "x", 1 + job);
  *preview.mutable_nodes(0)->add_jobs() = Job("9999", "eve", "endless", 0);
  const std::string text = RenderForecast(preview);
  EXPECT_THAT(text, HasSubstr("… and 13 more jobs; -o json has all of them"));
  EXPECT_LT(text.find("\n9999"), text.find("\n4711"));
  EXPECT_LT(text.find("\n4711"), text.find("\n149"));
}

TEST(RolloutForecast, TheNameOfAJobNeverControlsTheTerminal) {
  v1::PreviewRolloutResponse preview = SamplePreview();
  preview.mutable_nodes(5)->mutable_jobs(0)->set_name("\x1b[2J\nc007  in service");
  const std::string text = RenderForecast(preview);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\nc007")));
}

}  // namespace
}  // namespace muster::cli
