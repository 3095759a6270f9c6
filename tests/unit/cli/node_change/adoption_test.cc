#include "cli/node_change/adoption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/proto_time.h"
#include "muster/v1/boot.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

const absl::Time kMatchedAt = absl::FromUnixSeconds(1'900'000'000);

class AdoptionTest : public ::testing::Test {
 protected:
  AdoptionTest() {
    *response_.mutable_time() = ToTimestamp(kMatchedAt);
    // As the controller lists them: the newest first.
    Add("0c:00:00:00:00:02", "S1", absl::Minutes(3));
    Add("0c:00:00:00:00:01", "S3", absl::Minutes(5));
    Add("0c:00:00:00:00:03", "S2", absl::Minutes(4));
    // One that was switched off, and one that has told nothing.
    Add("0c:00:00:00:00:04", "S4", absl::Minutes(30))
        .mutable_told_at()
        ->CopyFrom(ToTimestamp(kMatchedAt - kStillThere));
    Add("0c:00:00:00:00:05", "S5", absl::Minutes(1)).clear_told_at();
  }
  v1::UnknownMachine& Add(const std::string& mac, const std::string& serial, absl::Duration ago) {
    v1::UnknownMachine& machine = *response_.add_machines();
    machine.set_mac(mac);
    machine.mutable_facts()->mutable_machine()->set_serial(serial);
    *machine.mutable_first_seen() = ToTimestamp(kMatchedAt - ago);
    *machine.mutable_told_at() = ToTimestamp(kMatchedAt - absl::Seconds(10));
    return machine;
  }
  // The last digits of the addresses, in the order of the names.
  std::string Matched(AdoptionOrder order, const std::vector<std::string>& macs = {}) {
    const std::vector<std::string> names = {"c1", "c2", "c3"};
    const auto adoptions = MatchMachines(names, response_, {.order = order, .macs = macs});
    EXPECT_OK(adoptions);
    std::string digits;
    for (size_t i = 0; i < adoptions->size(); ++i) {
      EXPECT_EQ((*adoptions)[i].name, names[i]);
      digits += (*adoptions)[i].machine->mac().back();
    }
    return digits;
  }

  // What those that are chosen get, by the last digits: "1+1 without 02 of 2" is the first with one
  // other port and without one that the second has, too.
  std::string Ports(const std::vector<std::string>& macs) {
    const auto adoptions =
        MatchMachines(std::vector<std::string>(macs.size(), "c"), response_, {.macs = macs});
    EXPECT_OK(adoptions);
    return absl::StrJoin(*adoptions, ", ", [](std::string* out, const Adoption& each) {
      EXPECT_EQ(each.macs.front(), each.machine->mac());
      absl::StrAppend(out, each.macs.front().substr(16));
      if (each.macs.size() > 1) absl::StrAppend(out, "+", each.macs.size() - 1);
      for (const ContestedPort& port : each.contested)
        absl::StrAppend(out, " without ", port.mac.substr(15), " of ", port.also_of.substr(16));
    });
  }

  v1::ListUnknownMachinesResponse response_;
};

TEST_F(AdoptionTest, NamesFollowTheOrderOfTheMachines) {
  EXPECT_EQ(Matched(AdoptionOrder::kPowerOn), "132");
  EXPECT_EQ(Matched(AdoptionOrder::kMac), "123");
  EXPECT_EQ(Matched(AdoptionOrder::kSerial), "231");
  EXPECT_EQ(
      Matched(AdoptionOrder::kMac, {"0C-00-00-00-00-03", "0c:00:00:00:00:01", "0c:00:00:00:00:02"}),
      "312");
}

TEST_F(AdoptionTest, NobodyIsLeftOverOnEitherSide) {
  const auto two = MatchMachines({"c1", "c2"}, response_, {.order = AdoptionOrder::kMac});
  EXPECT_THAT(two, StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(
      MatchMachines({"c1"}, response_, {.macs = {"0c:00:00:00:00:01", "0c:00:00:00:00:02"}}),
      StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(MatchMachines({"c1"}, response_, {.macs = {"0c:00:00:00:00:04"}}),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(
      MatchMachines({"c1", "c2"}, response_, {.macs = {"0c:00:00:00:00:01", "0c:00:00:00:00:01"}}),
      StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(AdoptionTest, SerialNumbersHaveToTellMachinesApart) {
  const auto by_serial = [&] {
    return MatchMachines({"c1", "c2", "c3"}, response_, {.order = AdoptionOrder::kSerial});
  };
  response_.mutable_machines(0)->mutable_facts()->mutable_machine()->set_serial("S2");
  EXPECT_THAT(by_serial(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  response_.mutable_machines(0)->mutable_facts()->mutable_machine()->clear_serial();
  EXPECT_THAT(by_serial(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

// Two cables each: that of the BMC's network is not the one by which the machine boots.
void Plug(v1::UnknownMachine& machine, const std::string& at_switch, const std::string& port) {
  v1::Facts& facts = *machine.mutable_facts();
  for (const char* name : {"eno1", "eth0"}) {
    facts.add_nics()->set_name(name);
    facts.add_neighbors()->set_interface(name);
  }
  facts.mutable_nics(0)->set_mac("0c:00:00:00:ff:ff");
  facts.mutable_nics(1)->set_mac(machine.mac());
  facts.mutable_neighbors(0)->set_system("office");
  facts.mutable_neighbors(0)->set_port("1");
  facts.mutable_neighbors(1)->set_system(at_switch);
  facts.mutable_neighbors(1)->set_port(port);
}

TEST_F(AdoptionTest, NamesFollowThePortsOfTheSwitches) {
  const auto by_port = [&](const std::vector<std::string>& names, const std::string& at_switch) {
    return MatchMachines(names, response_, {.order = AdoptionOrder::kPort, .at_switch = at_switch});
  };
  Plug(*response_.mutable_machines(0), "leaf2", "Ethernet1/10");
  Plug(*response_.mutable_machines(1), "leaf2", "Ethernet1/9");
  EXPECT_THAT(by_port({"c1", "c2", "c3"}, ""),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()))
      << "one has not heard its switch";
  Plug(*response_.mutable_machines(2), "leaf10", "Ethernet1/1");
  EXPECT_EQ(Matched(AdoptionOrder::kPort), "123");
  const auto at_one = by_port({"c1"}, "leaf10");
  ASSERT_OK(at_one);
  EXPECT_EQ(at_one->front().machine->mac(), "0c:00:00:00:00:03");
  EXPECT_THAT(by_port({"c1"}, "leaf2"), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  // A switch that tells no ports, or one behind which others are.
  response_.mutable_machines(1)->mutable_facts()->mutable_neighbors(1)->clear_port();
  EXPECT_THAT(by_port({"c1", "c2"}, "leaf2"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  response_.mutable_machines(1)->mutable_facts()->mutable_neighbors(1)->set_port("Ethernet1/10");
  EXPECT_THAT(by_port({"c1", "c2"}, "leaf2"),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

void AddPort(v1::UnknownMachine& machine, const std::string& mac) {
  v1::NicFacts& nic = *machine.mutable_facts()->add_nics();
  nic.set_mac(mac);
  nic.set_kind("ethernet");
  nic.set_pci_address("0000:3b:00.0");
}

// By whichever port it boots next, it is the node.
TEST_F(AdoptionTest, AMachineIsAdoptedWithAllItsPorts) {
  v1::UnknownMachine& machine = *response_.mutable_machines(0);
  AddPort(machine, "0c:00:00:00:ff:01");
  AddPort(machine, machine.mac());
  machine.mutable_facts()->add_nics()->set_mac("0c:00:00:00:ff:02");  // on USB
  const auto adoptions =
      MatchMachines({"c1", "c2", "c3"}, response_, {.order = AdoptionOrder::kMac});
  ASSERT_OK(adoptions);
  EXPECT_THAT((*adoptions)[0].macs, ElementsAre("0c:00:00:00:00:01"));
  EXPECT_THAT((*adoptions)[1].macs, ElementsAre(machine.mac(), "0c:00:00:00:ff:01"));
}

TEST_F(AdoptionTest, APortOfANodeMakesNoOtherNode) {
  response_.mutable_machines(0)->set_node("c9");
  const auto others = MatchMachines({"c1", "c2"}, response_, {.order = AdoptionOrder::kMac});
  ASSERT_OK(others);
  EXPECT_EQ(others->back().machine->mac(), "0c:00:00:00:00:03");
  EXPECT_THAT(MatchMachines({"c1"}, response_, {.macs = {"0c:00:00:00:00:02"}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(AdoptionTest, NobodyTakesAPortFromAnotherThatWaits) {
  AddPort(*response_.mutable_machines(0), "0c:00:00:00:00:01");
  EXPECT_THAT(MatchMachines({"c1", "c2", "c3"}, response_, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  // The one that says so gets no port of the other, which loses nothing.
  EXPECT_EQ(Ports({"0c:00:00:00:00:02"}), "2 without 01 of 1");
  EXPECT_EQ(Ports({"0c:00:00:00:00:01"}), "1");
  EXPECT_EQ(Ports({"0c:00:00:00:00:01", "0c:00:00:00:00:02"}), "1, 2 without 01 of 1");
}

// One that pretends to boot by a port of a machine does not keep that one from being adopted.
TEST_F(AdoptionTest, NobodyKeepsAMachineFromBeingChosen) {
  AddPort(*response_.mutable_machines(1), "0c:00:00:00:00:02");
  AddPort(*response_.mutable_machines(1), "0c:00:00:00:ff:01");
  EXPECT_EQ(MatchMachines({"c1", "c2", "c3"}, response_, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Ports({"0c:00:00:00:00:01"}), "1+1 without 02 of 2");
  // Nor does one that reports the same port and has not booted by it either.
  AddPort(*response_.mutable_machines(2), "0c:00:00:00:ff:01");
  EXPECT_EQ(Ports({"0c:00:00:00:00:01"}), "1+1 without 02 of 2");
  EXPECT_EQ(Ports({"0c:00:00:00:00:01", "0c:00:00:00:00:03"}),
            "1 without 02 of 2 without 01 of 3, 3 without 01 of 1");
}

TEST_F(AdoptionTest, MoreThanTheControllerKeepsAreChosenByHand) {
  while (response_.machines_size() < 256) Add("0c:00:00:00:01:00", "S", absl::Hours(1));
  EXPECT_THAT(MatchMachines({"c1"}, response_, {.order = AdoptionOrder::kMac}),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_OK(MatchMachines({"c1"}, response_, {.macs = {"0c:00:00:00:00:01"}}));
}

TEST(AdoptionOrderTest, Words) {
  EXPECT_EQ(ParseAdoptionOrder("serial").value(), AdoptionOrder::kSerial);
  EXPECT_THAT(ParseAdoptionOrder("seriel"), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::cli
