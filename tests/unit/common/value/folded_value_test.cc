#include "common/value/folded_value.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/value/proto_value.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/plan.pb.h"

namespace muster {
namespace {

v1::Facts Sample() {
  v1::Facts facts;
  facts.mutable_gathered_at()->set_seconds(1'700'000'000);
  facts.mutable_os()->set_id("debian");
  facts.mutable_memory();  // set, and empty
  facts.set_nvidia_driver_version("535.261.03");
  for (const char* name : {"nvme0n1", "émoji"}) {
    v1::DiskFacts& disk = *facts.add_disks();
    disk.set_name(name);
    disk.set_size_bytes(3'840'755'982'336);
  }
  facts.add_nics()->set_speed_mbits_per_s(100'000);
  facts.add_nics();  // its speed is not known
  return facts;
}

TEST(FoldedValueTest, MessageIsTheSameWhenUnfolded) {
  for (const v1::Facts& facts : {Sample(), v1::Facts()}) {
    const auto folded = FoldMessage(v1::Facts(), facts.SerializeAsString());
    ASSERT_TRUE(folded.has_value());
    EXPECT_EQ(UnfoldAll(*folded), ProtoToValue(facts));
    // The order of the keys, too.
    EXPECT_EQ(UnfoldAll(*folded).dump(), ProtoToValue(facts).dump());
  }
}

TEST(FoldedValueTest, OnlyMessagesAndListsWithContentAreFolded) {
  const Value folded = *FoldMessage(v1::Facts(), Sample().SerializeAsString());
  for (const auto& [name, value] : folded.items()) {
    EXPECT_EQ(IsFolded(value), name == "gathered_at" || name == "os" || name == "memory" ||
                                   name == "disks" || name == "nics")
        << name;
  }
  EXPECT_FALSE(IsSecret(folded["disks"]));
  EXPECT_LT(FoldedBytes(folded["disks"]), 60u);
  EXPECT_EQ(folded["nvidia_driver_version"], "535.261.03");
  EXPECT_EQ(folded["cpu"], nullptr);
  EXPECT_EQ(folded["gpus"], Value::array());
  EXPECT_FALSE(IsFolded(MakeSecret("s")));
}

TEST(FoldedValueTest, MapsAndOneofsAreTheSameWhenUnfolded) {
  v1::Step step;
  step.set_step_id("base/0");
  (*step.mutable_command()->mutable_environment())["B"] = "1";
  (*step.mutable_command()->mutable_environment())["A"] = "2";
  EXPECT_EQ(UnfoldAll(*FoldMessage(v1::Step(), step.SerializeAsString())), ProtoToValue(step));
  const v1::CommandResource& command = step.command();
  EXPECT_EQ(UnfoldAll(*FoldMessage(v1::CommandResource(), command.SerializeAsString())),
            ProtoToValue(command));
}

TEST(FoldedValueTest, SplitFieldsAreOne) {
  v1::Facts first, second;
  first.mutable_os()->set_id("debian");
  first.add_disks()->set_name("sda");
  second.mutable_os()->set_kernel("6.1");
  second.add_disks()->set_name("sdb");
  const std::string bytes = first.SerializeAsString() + second.SerializeAsString();
  v1::Facts both;
  ASSERT_TRUE(both.ParseFromString(bytes));
  EXPECT_EQ(UnfoldAll(*FoldMessage(v1::Facts(), bytes)), ProtoToValue(both));
}

TEST(FoldedValueTest, BytesThatAreNoMessageAreRefused) {
  const std::string bytes = Sample().SerializeAsString();
  EXPECT_FALSE(FoldMessage(v1::Facts(), "no message").has_value());
  EXPECT_FALSE(FoldMessage(v1::Facts(), bytes.substr(0, bytes.size() - 1)).has_value());
  EXPECT_FALSE(FoldMessage(v1::Facts(), std::string("\x52\x01\xff", 3)).has_value());  // not UTF-8
}

TEST(FoldedValueTest, DamagedFieldIsNull) {
  // Field 3, os: one byte that begins a field and does not end it.
  const auto folded = FoldMessage(v1::Facts(), std::string("\x1a\x01\x0a", 3));
  ASSERT_TRUE(folded.has_value());
  EXPECT_EQ(Unfold((*folded)["os"]), nullptr);
}

TEST(FoldedValueTest, UnfoldsAtAnyDepth) {
  const Value folded = *FoldMessage(v1::Facts(), Sample().SerializeAsString());
  const Value plain = {{"nodes", {{"c001", ProtoToValue(Sample())}, {"cpus", 4}}}};
  EXPECT_EQ(UnfoldAll({{"nodes", {{"c001", folded}, {"cpus", 4}}}}), plain);
  EXPECT_EQ(UnfoldAll(plain), plain);
}

TEST(FoldedValueTest, ALentValueIsTheOneThatWasLent) {
  const Value users = {{"alice", 1000}, {"bob", 1001}};
  const Value vars = {{"users", Lend(users)}, {"own", 1}};
  const Value nodes = {{"c001", Lend(vars)}, {"c002", Lend(vars)}};
  EXPECT_TRUE(IsFolded(nodes["c001"]));
  EXPECT_EQ(LentValue(nodes["c002"]), &vars);
  EXPECT_EQ(LentValue(Value(nodes["c002"])), &vars) << "so is a copy";
  EXPECT_TRUE(IsFolded(Unfold(nodes["c001"])["users"]));
  const Value plain = {{"users", users}, {"own", 1}};
  EXPECT_EQ(UnfoldAll(nodes), Value({{"c001", plain}, {"c002", plain}}));
  const Value folded = *FoldMessage(v1::Facts(), Sample().SerializeAsString());
  EXPECT_EQ(LentValue(folded["os"]), nullptr);
  EXPECT_FALSE(IsSecret(nodes["c001"]));
}

}  // namespace
}  // namespace muster
