#include "controller/validation/learning/floor_learner.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/checks/catalog.h"

namespace muster::controller::validation {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kNow = absl::FromCivil(absl::CivilSecond(2026, 11, 15), absl::UTCTimeZone());

// The gpu-gemm rate of one GPU of one node.
struct Measured {
  std::string uuid, node;
  double tflops = 0;
  std::string driver = "535.261.03";
  std::string power = "250";
  std::string variant = "fp16";
  std::string engine;
  std::string parameters_digest;
};

void Add(const Measured& measured, FloorLearner& learner, absl::Time time = kNow) {
  v1::CheckResult result;
  v1::Subject& gpu = *result.add_subjects();
  gpu.set_id(measured.uuid);
  gpu.set_kind("gpu");
  gpu.set_model("NVIDIA L4");
  (*gpu.mutable_attributes())["driver_version"] = measured.driver;
  (*gpu.mutable_attributes())["power_limit_watts"] = measured.power;
  v1::Metric& metric = *result.add_metrics();
  metric.set_name("tflops_median");
  metric.set_variant(measured.variant);
  metric.set_subject(measured.uuid);
  metric.set_unit("TFLOPS");
  metric.set_value(measured.tflops);
  if (!measured.engine.empty()) result.add_tools(measured.engine);
  learner.Add({measured.node, "", "acceptance", "v-1", time, checks::FindCheck("gpu-gemm"), &result,
               measured.parameters_digest});
}

// `count` GPUs, three per node, with rates around 100 that are `step` apart.
void AddFleet(int count, double step, FloorLearner& learner, const std::string& driver = "535",
              const std::string& power = "250", double middle = 100) {
  for (int i = 0; i < count; ++i) {
    Add({absl::StrCat("GPU-", driver, power, i), absl::StrCat("c", i / 3),
         middle + step * (i - (count - 1) / 2.0), driver, power},
        learner);
  }
}

FloorProposal Propose(const FloorLearner& learner, size_t min_subjects = 0) {
  const std::vector<LearnedMetric> learned = learner.Learned();
  EXPECT_THAT(learned, SizeIs(1));
  return ProposeFloor(learned.at(0), RelativeLimit(), min_subjects);
}

TEST(FloorLearner, IsFiveDeviationsBelowTheMedian) {
  FloorLearner learner;
  AddFleet(24, 1, learner);
  const FloorProposal proposal = Propose(learner);
  // 88.5 … 111.5: half of the distances from 100 are up to 6, times 1.4826 and 5.
  EXPECT_DOUBLE_EQ(proposal.median, 100);
  EXPECT_DOUBLE_EQ(proposal.floor, 55.5);
  EXPECT_DOUBLE_EQ(proposal.worst, 88.5);
  EXPECT_EQ(proposal.subjects, 24u);
  EXPECT_EQ(proposal.nodes, 8u);
  EXPECT_EQ(proposal.source,
            "measured on 24 GPUs of 8 nodes, 2026-11, driver 535, 250 W, suite acceptance up to "
            "v-1: median 100, least 88.5");
}

TEST(FloorLearner, EqualGpusLeaveRoomToo) {
  FloorLearner learner;
  AddFleet(8, 0.001, learner);
  EXPECT_DOUBLE_EQ(Propose(learner).floor, 95);  // 5 % below
}

TEST(FloorLearner, IsNeverAboveTheWorstGoodValueLessTheMargin) {
  FloorLearner learner;
  AddFleet(22, 0.001, learner);
  Add({"GPU-slow1", "c9", 90, "535", "250"}, learner);
  Add({"GPU-slow2", "c10", 90, "535", "250"}, learner);
  const FloorProposal proposal = Propose(learner);
  EXPECT_DOUBLE_EQ(proposal.worst, 90);
  EXPECT_DOUBLE_EQ(proposal.floor, 88.2);
}

// A node that lies, in either direction.
TEST(FloorLearner, NoNodeMovesAFloorAlone) {
  for (const double lie : {1.0, 50.0, 94.0, 110.0, 1e6}) {
    for (const int parts : {1, 8, 1000}) {
      FloorLearner learner;
      AddFleet(24, 0.001, learner);
      for (int i = 0; i < parts; ++i)
        Add({absl::StrCat("GPU-lie", i), "liar", lie, "535", "250"}, learner);
      const FloorProposal proposal = Propose(learner);
      EXPECT_NEAR(proposal.floor, 95, 0.1) << lie << " by " << parts;
      if (lie < 95) {
        EXPECT_THAT(proposal.source, HasSubstr(", which liar alone reached"));
      }
    }
  }
  // Nor by circumstances that it shares with no other node.
  FloorLearner learner;
  AddFleet(24, 0.001, learner);
  for (int i = 0; i < 100; ++i)
    Add({absl::StrCat("GPU-lie", i), "liar", 10, "666", "250"}, learner);
  EXPECT_DOUBLE_EQ(Propose(learner).floor, 95);
  // And it makes none alone.
  FloorLearner alone;
  for (int i = 0; i < 100; ++i) Add({absl::StrCat("GPU-lie", i), "liar", 10}, alone);
  EXPECT_EQ(Propose(alone).floor, 0);
  EXPECT_THAT(Propose(alone).note, HasSubstr("100 GPUs of 1 node; 8 of 3 nodes, or 5 nodes"));
}

TEST(FloorLearner, AGpuCountsOnceWithTheLeastThatItReached) {
  FloorLearner learner;
  AddFleet(8, 0.001, learner);
  for (int i = 0; i < 100; ++i) Add({"GPU-5352500", "c0", 100 - i * 0.1, "535", "250"}, learner);
  const FloorProposal proposal = Propose(learner);
  EXPECT_EQ(proposal.subjects, 8u);
  EXPECT_NEAR(proposal.median, 100, 0.01);
  EXPECT_NEAR(proposal.worst, 90.1, 1e-9);
}

TEST(FloorLearner, EnginesAndParametersAreNotMixed) {
  // Eight GPUs by cuBLAS, and the same by our own kernels, or in a longer burn: a mixture would
  // differ too much for a floor.
  for (const bool by_engine : {true, false}) {
    FloorLearner learner;
    for (int i = 0; i < 16; ++i) {
      Measured one = {absl::StrCat("GPU-", i % 8), absl::StrCat("c", i % 8 % 4),
                      i < 8 ? 100.0 : 60.0};
      if (by_engine) one.engine = i < 8 ? "cublas 11.11.3" : "own kernel sm_75";
      if (!by_engine) one.parameters_digest = i < 8 ? "quick" : "long";
      Add(one, learner);
    }
    ASSERT_THAT(learner.Learned(), SizeIs(1));
    EXPECT_THAT(learner.Learned()[0].populations, SizeIs(2));
    const FloorProposal proposal = Propose(learner);
    EXPECT_DOUBLE_EQ(proposal.floor, 57);  // 5 % below the lower group's median
    EXPECT_DOUBLE_EQ(proposal.median, 60);
    EXPECT_EQ(proposal.subjects, 8u);
    if (by_engine) {
      EXPECT_THAT(proposal.source, HasSubstr("250 W, cublas 11.11.3 and own kernel sm_75, suite"));
    }
  }
  // Four and four are not eight.
  FloorLearner few;
  for (int i = 0; i < 8; ++i) {
    Measured one = {absl::StrCat("GPU-", i), absl::StrCat("c", i % 2), 100};
    one.engine = i < 4 ? "cublas 11.11.3" : "own kernel sm_75";
    Add(one, few);
  }
  EXPECT_EQ(Propose(few).floor, 0);
}

TEST(FloorLearner, TooFewSayNothing) {
  FloorLearner learner;
  AddFleet(7, 0.1, learner);
  EXPECT_EQ(Propose(learner).floor, 0);
  EXPECT_EQ(
      Propose(learner).note,
      "too few with the same driver, firmware, power limit, engine and parameters: 7 GPUs of 3 "
      "nodes; 8 of 3 nodes, or 5 nodes, are needed");
  EXPECT_GT(Propose(learner, 7).floor, 0);
  EXPECT_THAT(Propose(learner, 100).note, HasSubstr("100 are needed"));
  FloorLearner nodes;
  for (int i = 0; i < 5; ++i) Add({absl::StrCat("G", i), absl::StrCat("c", i), 100}, nodes);
  EXPECT_DOUBLE_EQ(Propose(nodes).floor, 95);
}

TEST(FloorLearner, DriversAndPowerLimitsAreNotMixed) {
  FloorLearner learner;
  AddFleet(8, 0.1, learner, "535", "250", 100);
  AddFleet(8, 0.1, learner, "550", "250", 110);
  AddFleet(8, 0.1, learner, "550", "200", 80);
  const std::vector<LearnedMetric> learned = learner.Learned();
  ASSERT_THAT(learned, SizeIs(1));
  EXPECT_THAT(learned[0].populations, SizeIs(3));
  const FloorProposal proposal = ProposeFloor(learned[0], RelativeLimit(), 0);
  // The slowest one's: all three have to reach it. Mixed, they would spread too far.
  EXPECT_DOUBLE_EQ(proposal.floor, 76);
  EXPECT_EQ(proposal.subjects, 24u);
  EXPECT_EQ(proposal.nodes, 3u);
  EXPECT_THAT(proposal.source,
              AllOf(HasSubstr("driver 535 and 550"), HasSubstr("200 W and 250 W")));
}

TEST(FloorLearner, AFewOthersLowerTheFloorAndNeverRaiseIt) {
  FloorLearner learner;
  AddFleet(8, 0.1, learner, "535", "250", 100);
  AddFleet(2, 0.1, learner, "535", "150", 60);
  EXPECT_DOUBLE_EQ(Propose(learner).floor, 95);  // from one node
  AddFleet(4, 0.1, learner, "535", "150", 60);
  EXPECT_DOUBLE_EQ(Propose(learner).floor, 58.9);  // 2 % below the rate of the second of two
}

TEST(FloorLearner, OneGpuWithTwoDriversIsOneGpu) {
  FloorLearner learner;
  for (const char* driver : {"535", "550"}) {
    for (int i = 0; i < 8; ++i) {
      Add({absl::StrCat("GPU-", i), absl::StrCat("c", i), 100, driver, "250"}, learner);
    }
  }
  EXPECT_EQ(Propose(learner).subjects, 8u);
  EXPECT_EQ(Propose(learner).nodes, 8u);
}

TEST(FloorLearner, TheOrderOfResultsDoesNotMatter) {
  FloorLearner forward, backward;
  for (int i = 0; i < 40; ++i)
    Add({absl::StrCat("G", i % 20), absl::StrCat("c", i % 4), 90.0 + i % 7}, forward);
  for (int i = 39; i >= 0; --i)
    Add({absl::StrCat("G", i % 20), absl::StrCat("c", i % 4), 90.0 + i % 7}, backward);
  EXPECT_EQ(Propose(forward).floor, Propose(backward).floor);
  EXPECT_EQ(Propose(forward).source, Propose(backward).source);
}

TEST(FloorLearner, TakesRatesOfWorkAlone) {
  FloorLearner learner;
  v1::CheckResult result;
  v1::Subject& gpu = *result.add_subjects();
  gpu.set_id("GPU-1");
  gpu.set_kind("gpu");
  gpu.set_model("NVIDIA L4");
  const auto add = [&](const char* name, const char* unit, double value, const char* subject) {
    v1::Metric& metric = *result.add_metrics();
    metric.set_name(name);
    metric.set_unit(unit);
    metric.set_value(value);
    metric.set_subject(subject);
  };
  add("temperature_max_celsius", "celsius", 60, "GPU-1");  // less is better
  add("products", "1", 1000, "GPU-1");                     // a count
  add("tflops_median", "GFLOPS", 1000, "GPU-1");           // from another version
  add("tflops_median", "TFLOPS", 10, "GPU-2");             // without a known GPU
  add("tflops_median", "TFLOPS", std::numeric_limits<double>::infinity(), "GPU-1");
  add("tflops_median", "TFLOPS", -1, "GPU-1");
  add("no_metric", "TFLOPS", 10, "GPU-1");
  learner.Add({"c1", "", "s", "v", kNow, checks::FindCheck("gpu-gemm"), &result});
  EXPECT_THAT(learner.Learned(), IsEmpty());
  // A link's own statement is not a rate.
  result.clear_metrics();
  result.mutable_subjects(0)->set_kind("nic");
  add("speed_mbits", "Mbit/s", 10000, "GPU-1");
  add("pcie_speed_gts", "GT/s", 8, "GPU-1");
  learner.Add({"c1", "ethernet 10 Gbit/s", "s", "v", kNow, checks::FindCheck("nic-link"), &result});
  EXPECT_THAT(learner.Learned(), IsEmpty());
  EXPECT_EQ(learner.results(), 2u);
}

TEST(FloorLearner, CopiesBetweenTwoGpusAreOneMetric) {
  FloorLearner learner;
  v1::CheckResult result;
  for (const char* uuid : {"GPU-1", "GPU-2", "GPU-3"}) {
    v1::Subject& gpu = *result.add_subjects();
    gpu.set_id(uuid);
    gpu.set_kind("gpu");
    gpu.set_model("NVIDIA L4");
  }
  for (const char* partner : {"GPU-2", "GPU-3"}) {
    v1::Metric& metric = *result.add_metrics();
    metric.set_name("gpu_to_gpu_gbytes_per_s");
    metric.set_unit("GB/s");
    metric.set_subject("GPU-1");
    metric.set_variant(partner);
    metric.set_value(20);
  }
  learner.Add({"c1", "", "s", "v", kNow, checks::FindCheck("gpu-copy"), &result});
  ASSERT_THAT(learner.Learned(), SizeIs(1));
  EXPECT_EQ(learner.Learned()[0].variant, "");
}

TEST(FloorLearner, PortsAreKnownByTheInventoryAndTheirMtu) {
  FloorLearner learner;
  for (int i = 0; i < 12; ++i) {
    v1::CheckResult result;
    v1::Subject& nic = *result.add_subjects();
    nic.set_id("eth0");
    nic.set_kind("nic");
    nic.set_model("ixgbe");
    (*nic.mutable_attributes())["mtu"] = i < 6 ? "1500" : "9000";
    v1::Metric& metric = *result.add_metrics();
    metric.set_name("receive_gbits");
    metric.set_unit("Gbit/s");
    metric.set_subject("eth0");
    metric.set_value(i < 6 ? 9.4 : 9.9);
    const std::string node = absl::StrCat("c", i);
    learner.Add(
        {node, "ethernet 10 Gbit/s", "s", "v", kNow, checks::FindCheck("nic-pair"), &result});
    learner.Add({node, "", "s", "v", kNow, checks::FindCheck("nic-pair"), &result});
  }
  const std::vector<LearnedMetric> learned = learner.Learned();
  ASSERT_THAT(learned, SizeIs(1));
  EXPECT_EQ(learned[0].model, "ethernet 10 Gbit/s");
  EXPECT_THAT(learned[0].populations, SizeIs(2));
  const FloorProposal proposal = ProposeFloor(learned[0], RelativeLimit(), 0);
  EXPECT_DOUBLE_EQ(proposal.floor, 8.93);
  EXPECT_THAT(proposal.source, HasSubstr("12 ports of 12 nodes"));
}

TEST(FloorLearner, WhatAgentsNameIsBounded) {
  FloorLearner learner;
  for (size_t i = 0; i < FloorLearner::kMaxSeries + 10; ++i) {
    Add({"GPU-1", "c1", 1, "535", "250", absl::StrCat("v", i)}, learner);
  }
  EXPECT_TRUE(learner.full());
  EXPECT_THAT(learner.Learned(), SizeIs(FloorLearner::kMaxSeries));
  FloorLearner names;
  Add({"GPU-1", "c1", 1, "535", "250", std::string(1000, 'x')}, names);
  EXPECT_THAT(names.Learned(), IsEmpty());
}

TEST(ProposeFloor, ValuesAllOverThePlaceLeadToNone) {
  FloorLearner learner;
  AddFleet(24, 8, learner);  // 8 … 192
  EXPECT_EQ(Propose(learner).floor, 0);
  EXPECT_THAT(Propose(learner).note, HasSubstr("differ too much"));
}

TEST(ProposeFloor, KeepsToTheFilesOwnRule) {
  FloorLearner learner;
  AddFleet(8, 0.001, learner);
  EXPECT_DOUBLE_EQ(ProposeFloor(learner.Learned()[0], {5, 20}, 0).floor, 80);
}

}  // namespace
}  // namespace muster::controller::validation
