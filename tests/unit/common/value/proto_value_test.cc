#include "common/value/proto_value.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "muster/v1/facts.pb.h"
#include "muster/v1/plan.pb.h"
#include "muster/v1/run.pb.h"

namespace muster {
namespace {

using Json = nlohmann::ordered_json;

TEST(ProtoValue, KeepsNamesAndOrderOfTheProto) {
  v1::CpuFacts cpu;
  cpu.set_model("Xeon");
  cpu.set_cpus(64);
  EXPECT_EQ(ProtoToValue(cpu).dump(),
            R"({"model":"Xeon","cpus":64,"boards":0,"sockets":0,"cores_per_socket":0,)"
            R"("threads_per_core":0,"numa_nodes":0})");
}

TEST(ProtoValue, UnsetIsNullAndEmptyRepeatedIsAnArray) {
  v1::Facts facts;
  facts.add_nics()->set_name("eth0");
  const Json value = ProtoToValue(facts);
  EXPECT_TRUE(value["os"].is_null());
  EXPECT_TRUE(value["gathered_at"].is_null());
  EXPECT_EQ(value["gpus"], Json::array());
  EXPECT_EQ(value["nvidia_driver_version"], "");
  EXPECT_TRUE(value["nics"][0]["speed_mbits_per_s"].is_null());
  facts.mutable_nics(0)->set_speed_mbits_per_s(0);
  EXPECT_EQ(ProtoToValue(facts)["nics"][0]["speed_mbits_per_s"], 0);
}

TEST(ProtoValue, EnumsAreWords) {
  v1::Run run;
  run.set_state(v1::RUN_STATE_RUNNING);
  EXPECT_EQ(ProtoToValue(run)["state"], "running");
  v1::StepResult step;
  EXPECT_EQ(ProtoToValue(step)["status"], "unspecified");
}

TEST(ProtoValue, TimesAndDurations) {
  v1::StepResult step;
  step.mutable_started_at()->set_seconds(1700000000);
  step.mutable_started_at()->set_nanos(250000000);
  step.mutable_elapsed()->set_seconds(2);
  Json value = ProtoToValue(step);
  EXPECT_EQ(value["started_at"], "2023-11-14T22:13:20.25+00:00");
  EXPECT_EQ(value["elapsed"].dump(), "2");
  step.mutable_elapsed()->set_nanos(500000000);
  EXPECT_EQ(ProtoToValue(step)["elapsed"].dump(), "2.5");
}

TEST(ProtoValue, BytesMapsAndFloats) {
  v1::FileResource file;
  file.set_content(std::string("\x00\xff", 2));
  EXPECT_EQ(ProtoToValue(file)["content"], "AP8=");
  v1::CommandResource command;
  (*command.mutable_environment())["b"] = "2";
  (*command.mutable_environment())["a"] = "1";
  EXPECT_EQ(ProtoToValue(command)["environment"].dump(), R"({"a":"1","b":"2"})");
  v1::StepProgress progress;
  progress.set_percent(33.3f);
  EXPECT_EQ(ProtoToValue(progress)["percent"].dump(), "33.3");
}

TEST(ProtoValue, OneofShowsOnlyItsMember) {
  v1::RunEvent event;
  event.mutable_play_started()->set_name("workers");
  const Json value = ProtoToValue(event);
  EXPECT_EQ(value["play_started"]["name"], "workers");
  EXPECT_FALSE(value.contains("progress"));
}

}  // namespace
}  // namespace muster
