#include "controller/inventory/boot_choice.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/inventory/inventory.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BootChoiceTest, WhatIsReadIsWrittenTheSame) {
  const std::string digest(64, 'a');
  for (const std::string& text : {std::string("disk"), std::string("rescue"), std::string("worker"),
                                  std::string("debian-worker@1a2b3c4d"), "w.1_2@" + digest}) {
    const auto choice = ParseBootChoice(text);
    ASSERT_TRUE(choice.has_value()) << text;
    EXPECT_EQ(choice->ToString(), text);
  }
  EXPECT_EQ(ParseBootChoice("disk")->kind, BootChoice::Kind::kDisk);
  EXPECT_EQ(ParseBootChoice("rescue")->kind, BootChoice::Kind::kRescue);
  EXPECT_EQ(ParseBootChoice("worker")->kind, BootChoice::Kind::kImage);
  for (const std::string& text :
       {std::string(), std::string("-x"), std::string("a b"), std::string("../x"),
        std::string("w@"), std::string("w@1a2b3c4"), std::string("w@1A2B3C4D"), "w@" + digest + "a",
        std::string(65, 'a'), std::string("w@1a2b3c4d@"), std::string("w\n")})
    EXPECT_FALSE(ParseBootChoice(text).has_value()) << text;
}

TEST(BootChoiceTest, SignedKernelImages) {
  const auto inventory = ParseInventory({{"f", R"(
cluster: x
vars: {boot_signed: enroll}
nodes:
  c1: {role: compute}
  c2: {role: compute, vars: {boot_signed: false}}
  c3: {role: compute, vars: {boot_signed: true}}
)"}});
  ASSERT_OK(inventory);
  const auto choice_of = [&](const char* name) {
    return BootDefaultOf(*inventory, *inventory->FindNode(name)).signed_choice;
  };
  EXPECT_TRUE(choice_of("c1").is_signed);
  EXPECT_TRUE(choice_of("c1").enrolls);
  EXPECT_FALSE(choice_of("c2").is_signed);
  EXPECT_FALSE(choice_of("c2").enrolls);
  EXPECT_TRUE(choice_of("c3").is_signed);
  EXPECT_FALSE(choice_of("c3").enrolls);
  EXPECT_TRUE(SignedChoiceOfUnknown(*inventory).enrolls);
}

TEST(BootChoiceTest, PortsOfNodesAndOfRanges) {
  const auto inventory = ParseInventory({{"f", R"(
cluster: x
nodes:
  c1: {role: compute, mac: "00:00:00:00:00:0A"}
  c2: {role: compute, mac: ["00:00:00:00:00:01", "00:00:00:00:00:02"]}
  "c[3-4]": {role: compute, mac: ["00:00:00:00:00:03", "00:00:00:00:00:04"]}
  c5: {role: compute}
)"}});
  ASSERT_OK(inventory);
  EXPECT_THAT(inventory->FindNode("c1")->macs, ElementsAre("00:00:00:00:00:0a"));
  EXPECT_THAT(inventory->FindNode("c2")->macs,
              ElementsAre("00:00:00:00:00:01", "00:00:00:00:00:02"));
  EXPECT_THAT(inventory->FindNode("c4")->macs, ElementsAre("00:00:00:00:00:04"));
  EXPECT_THAT(inventory->FindNode("c5")->macs, IsEmpty());
  EXPECT_EQ(inventory->FindMac("00:00:00:00:00:02"), inventory->FindNode("c2"));
  EXPECT_EQ(inventory->FindMac("00:00:00:00:00:03"), inventory->FindNode("c3"));
  EXPECT_EQ(inventory->FindMac("00:00:00:00:00:05"), nullptr);
}

}  // namespace
}  // namespace muster::controller
