#include "controller/web/event_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "muster/v1/rollout.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller {
namespace {

constexpr size_t kLarge = 100'000;

TEST(EventWords, OutputsStayWhereTheyAre) {
  v1::RunEvent event;
  event.set_node("c1");
  event.mutable_step()->set_name("shared key");
  event.mutable_step()->set_output(std::string(kLarge, 'x'));
  event.mutable_step()->add_changes()->set_after(std::string(kLarge, 'x'));
  const auto json = EventJson(event);
  EXPECT_EQ(json["step"]["name"], "shared key");
  EXPECT_LT(json.dump().size(), 1000u);
  EXPECT_TRUE(IsReplaced(event));
}

TEST(EventWords, EndsHaveNoNodes) {
  v1::RunEvent run;
  for (int i = 0; i < 10'000; ++i) run.mutable_run_finished()->add_nodes()->set_node("c1");
  EXPECT_LT(EventJson(run).dump().size(), 2000u);
  EXPECT_FALSE(IsReplaced(run));
  v1::ValidationEvent validation;
  for (int i = 0; i < 10'000; ++i) validation.mutable_finished()->add_nodes()->set_node("c1");
  EXPECT_LT(EventJson(validation).dump().size(), 2000u);
  EXPECT_FALSE(IsReplaced(validation));
}

TEST(EventWords, ANewStepOfANodeReplacesTheOneBefore) {
  v1::RolloutEvent event;
  event.set_step(v1::ROLLOUT_STEP_APPLYING);
  EXPECT_FALSE(IsReplaced(event));  // of the whole rollout
  event.set_node("c1");
  EXPECT_TRUE(IsReplaced(event));
  EXPECT_EQ(EventJson(event)["step"], "applying");
  v1::RunEvent finished;
  finished.set_node("c1");
  finished.mutable_node_finished()->set_state("done");
  EXPECT_FALSE(IsReplaced(finished));
}

}  // namespace
}  // namespace muster::controller
