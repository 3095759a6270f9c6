// Finds the part of the network that is at fault when pairs of nodes are slow. Pure.
//
// Every measurement of one direction passes through three parts: the sender's port on its way out,
// the receiver's port on its way in, and between two switches the uplink in that direction. A part
// is suspected when most measurements through it are bad, and blamed when enough of these cannot be
// explained by another part that is equally suspicious. Of two equally suspicious nodes, the one
// whose port shows faults is blamed. What remains unexplained is reported as such: `cannot_tell`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// A node's port counters over the test, and the kernel's messages about its link.
struct PortEvidence {
  std::string interface;  // "eth0"
  // Errors caused by a cable, a transceiver or a switch port: corrupted incoming frames.
  double crc_errors = 0;
  // Sentences that point to the link: "the carrier of eth0 changed 4 times during the test".
  std::vector<std::string> link;
  // Sentences that point to the card: "PCIe x4 instead of x8".
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
  double gbits_per_s = 0;  // 0: it failed completely
  // The speed of the slower of the two ports; 0: not known. Pairs of equal speed are compared with
  // each other.
  double speed_gbits_per_s = 0;
  double retransmits = 0;
  // The interfaces that were used; may be empty.
  std::string from_interface;
  std::string to_interface;
  // A limit of the pair that is violated, as a sentence: the rate is bad then, however fast others
  // are.
  std::string limit = "";
  // The rate that its uplinks leave it, as an equal share, when all pairs of its round that cross
  // them do so at once; 0: not known, or it crosses none.
  double uplink_share_gbits_per_s = 0;
  // The average rate that these pairs reached there: connections do not share an uplink equally. 0:
  // the same as this one's.
  double uplink_mean_gbits_per_s = 0;
  bool told_by_sender = false;  // otherwise the receiver reported the rate
};

// The measured rates; pairs may be missing.
struct PairMatrix {
  std::vector<BlameNode> nodes;
  std::vector<DirectedRate> rates;
};

struct BlameRule {
  // A rate below this share of what a good pair reaches is bad, and so is one that violates a
  // limit: where all pairs are slow, none shows what is good. A good pair is the 75th percentile,
  // because the median is not a reference where most pairs are slow. Random differences of 5 % stay
  // above it.
  double good_share = 0.85;
  // On a full uplink, a pair gets at least this part of its equal share.
  double least_of_share = 0.5;
  // A part is suspected when this share of the measurements through it is bad.
  double suspect_share = 0.75;
  // The number of bad measurements with different partners that only this part explains.
  size_t min_evidence = 2;
  // A stray bit error does not mean a broken cable: 10 Gbit/s at the standard's bit error rate of
  // 1e-12 produce one error in 100 s.
  double min_crc_errors = 10;
};

enum class BlameKind { kNode, kNic, kLink, kUplink, kCannotTell };

struct Blame {
  BlameKind kind = BlameKind::kCannotTell;
  // The node; the node and its interface; the two switches; for kCannotTell, all candidates.
  std::vector<std::string> names;
  std::vector<uint32_t> nodes;     // nodes at fault, by place; none for uplinks and kCannotTell
  std::vector<uint32_t> suspects;  // for kCannotTell: nodes with slow pairs that nothing explains
  // For kCannotTell: those pairs, the smaller place first, and how to find out.
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  std::string remedy;
  std::string message;
  std::vector<std::string> evidence;
};

// Whether the rate is as low as its uplinks' capacity makes it, and no lower: the pairs together
// fill the uplink, and this one had its part of it. That is not a fault, whatever floors the ports
// have.
bool IsFairUplinkShare(const DirectedRate& rate, const BlameRule& rule = {});

// Ordered by how much each explains; kCannotTell comes last.
std::vector<Blame> FindBlame(const PairMatrix& matrix, const BlameRule& rule = {});

v1::Blame ToProto(const Blame& blame);

}  // namespace muster::controller::validation
