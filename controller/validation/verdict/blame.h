// Which part of the network is at fault when pairs of nodes are slow. Pure.
//
// Every measurement of one direction passes three parts: the sender's port on its way out, the
// receiver's port on its way in, and between two switches the uplink in that direction. A part is
// suspected when most of what passed it is bad, and blamed when enough of that cannot be explained
// by another part that is as suspicious. Of two nodes that are as suspicious, the one whose port
// shows faults is. What stays unexplained is said to be so: `cannot_tell`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// Port counters of a node over the test, and what the kernel said of its link.
struct PortEvidence {
  std::string interface;  // "eth0"
  // Errors that a cable, a transceiver or a switch port makes: frames that came in broken.
  double crc_errors = 0;
  // Sentences that speak for the link: "the carrier of eth0 changed 4 times during the test".
  std::vector<std::string> link;
  // Sentences that speak for the card: "PCIe x4 instead of x8".
  std::vector<std::string> card;
};

struct BlameNode {
  std::string name;
  std::string switch_name;  // empty: not known; then no uplink is blamed
  std::vector<PortEvidence> ports;
};

// Payload in one direction between two nodes, by their places in PairMatrix::nodes.
struct DirectedRate {
  uint32_t from = 0;
  uint32_t to = 0;
  double gbits_per_s = 0;  // 0: it did not work at all
  // Of the slower of the two ports, as the inventory has it; 0: not known. Pairs of equal speed are
  // compared with each other.
  double speed_gbits_per_s = 0;
  double retransmits = 0;
  // Interfaces that were used; may be empty.
  std::string from_interface;
  std::string to_interface;
  // A limit of the pair that is broken, as a sentence: it is bad then, however fast others are.
  std::string limit = "";
  // What its uplinks leave it when all pairs of its round that cross them do so at once, each its
  // equal share; 0: not known, or it crosses none.
  double uplink_share_gbits_per_s = 0;
  // What these pairs got there on average: connections do not share an uplink equally. 0: as much
  // as this one.
  double uplink_mean_gbits_per_s = 0;
};

// What was measured; pairs may be missing.
struct PairMatrix {
  std::vector<BlameNode> nodes;
  std::vector<DirectedRate> rates;
};

struct BlameRule {
  // A rate below this share of what a good pair reaches is bad, and so is one that breaks a limit:
  // where all are slow, nobody shows what is good. Of the 75th percentile, because
  // where most pairs are slow, their median is no measure. Random differences of 5 % stay above it.
  double good_share = 0.85;
  // What a pair gets of an uplink that is full is no less than this part of its equal share.
  double least_of_share = 0.5;
  // A part is suspected when this share of what passed it is bad.
  double suspect_share = 0.75;
  // Bad measurements with different partners that only this part explains.
  size_t min_evidence = 2;
  // A stray bit error is no broken cable: 10 Gbit/s at the standard's bit error rate of 1e-12 make
  // one error in 100 s.
  double min_crc_errors = 10;
};

enum class BlameKind { kNode, kNic, kLink, kUplink, kCannotTell };

struct Blame {
  BlameKind kind = BlameKind::kCannotTell;
  // The node; the node and its interface; the two switches; of kCannotTell all that may be it.
  std::vector<std::string> names;
  std::vector<uint32_t> nodes;     // that are at fault, by place; none of uplinks and kCannotTell
  std::vector<uint32_t> suspects;  // of kCannotTell: nodes whose slow pairs nobody explains
  // Of kCannotTell: those pairs, the smaller place first, and what would tell.
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  std::string remedy;
  std::string message;
  std::vector<std::string> evidence;
};

// Whether it is as slow as its uplinks' capacity makes it, and no slower: the pairs together fill
// the uplink, and it had its part of that. That is no fault, whatever floors the ports have.
bool IsFairUplinkShare(const DirectedRate& rate, const BlameRule& rule = {});

// In the order of how much each explains; what cannot be told last.
std::vector<Blame> FindBlame(const PairMatrix& matrix, const BlameRule& rule = {});

v1::Blame ToProto(const Blame& blame);

}  // namespace muster::controller::validation
