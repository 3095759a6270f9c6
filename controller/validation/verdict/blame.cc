#include "controller/validation/verdict/blame.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/text/counted.h"
#include "controller/validation/verdict/blame_parts.h"
#include "controller/validation/verdict/statistics.h"

namespace muster::controller::validation {
namespace {

constexpr size_t kMaxEvidence = 20;  // sentences for one blame
constexpr size_t kMaxNames = 32;

// Turns the parts of a matrix into blames; used once.
class BlameTeller {
 public:
  BlameTeller(const PairMatrix& matrix, const BlameRule& rule)
      : matrix_(matrix), rule_(rule), parts_(matrix, rule) {}

  std::vector<Blame> Tell() {
    std::vector<Blame> blames = Merge();
    AddCounters(blames);
    AddUnexplained(blames);
    return blames;
  }

 private:
  using Part = NetworkPart;
  using Entry = NetworkParts::Entry;

  std::string Rates(const PartState& state) const {
    std::vector<double> bad;
    double retransmits = 0;
    for (const size_t i : state.passed) {
      if (!parts_.IsBad(i)) continue;
      bad.push_back(matrix_.rates[i].gbits_per_s);
      retransmits += matrix_.rates[i].retransmits;
    }
    std::string text =
        absl::StrFormat("%d of %s %s slow, median %.4g Gbit/s", bad.size(),
                        Counted(state.passed.size(), "measurement"), bad.size() == 1 ? "is" : "are",
                        bad.empty() ? 0 : Median(bad));
    if (retransmits > 0) absl::StrAppend(&text, ", ", Counted(retransmits, "retransmit"));
    for (const size_t i : state.passed) {
      const DirectedRate& rate = matrix_.rates[i];
      if (rate.limit.empty()) continue;
      absl::StrAppend(&text, "; from ", matrix_.nodes[rate.from].name, " to ",
                      matrix_.nodes[rate.to].name, " ", rate.limit);
      break;
    }
    return text;
  }

  // Merges both directions of a port, all ports of a node, and both directions of an uplink.
  std::vector<Blame> Merge() {
    struct Port {
      const PartState *out = nullptr, *in = nullptr;
    };
    std::map<uint32_t, std::map<std::string, Port>> ports;
    std::map<std::pair<std::string, std::string>, std::vector<const Entry*>> uplinks;
    for (const Entry& entry : parts_.all()) {
      const auto& [part, state] = entry;
      if (!state.blamed) continue;
      if (part.kind == Part::kUplink) {
        uplinks[std::minmax(part.first, part.second)].push_back(&entry);
      } else {
        (part.kind == Part::kOut ? ports[part.node][part.first].out
                                 : ports[part.node][part.first].in) = &state;
      }
    }
    std::vector<Blame> blames;
    for (const auto& [node, of_node] : ports) {
      size_t all = 0;  // interfaces of the node that were measured
      for (const auto& [part, state] : parts_.all())
        all += part.kind == Part::kOut && part.node == node;
      if (of_node.size() > 1 && of_node.size() >= all) {
        Blame& blame = blames.emplace_back();
        blame.kind = BlameKind::kNode;
        blame.names = {matrix_.nodes[node].name};
        blame.nodes = {node};
        blame.message = absl::StrCat(blame.names[0], " is slow on all of its ", of_node.size(),
                                     " interfaces: the node is at fault, not one of its links");
        for (const auto& [interface, port] : of_node) AddRates(port.out, port.in, blame);
        continue;
      }
      for (const auto& [interface, port] : of_node) {
        blames.push_back(OfPort(node, interface, port.out, port.in, all > 1));
      }
    }
    for (const auto& [switches, entries] : uplinks) {
      Blame& blame = blames.emplace_back();
      blame.kind = BlameKind::kUplink;
      blame.names = {switches.first, switches.second};
      blame.message =
          entries.size() > 1
              ? absl::StrCat("the path between ", switches.first, " and ", switches.second,
                             " is slow in both directions, but not inside them: check the uplinks "
                             "and what else uses them")
              : absl::StrCat(
                    "the path from ", entries[0]->first.first, " to ", entries[0]->first.second,
                    " is slow, but not in the other direction nor inside them: check the uplinks");
      absl::StrAppend(&blame.message, RemedyOfUplink(entries));
      for (const Entry* entry : entries) {
        AddEvidence(blame, absl::StrCat("from ", entry->first.first, " to ", entry->first.second,
                                        ": ", Rates(entry->second)));
      }
    }
    return blames;
  }

  // An uplink that many pairs cross at once is slow for each of them: names the share that the
  // inventory's capacity leaves a pair, or asks for that capacity.
  std::string RemedyOfUplink(const std::vector<const Entry*>& entries) const {
    double share = 0;
    for (const Entry* entry : entries) {
      for (const size_t i : entry->second.passed) {
        share = std::max(share, matrix_.rates[i].uplink_share_gbits_per_s);
      }
    }
    if (share > 0) {
      return absl::StrFormat(
          " (by the inventory's uplink_gbits_per_s, a pair's share of them is up to %.4g Gbit/s)",
          share);
    }
    return "; if they are meant to carry less than all nodes of a switch at once, write "
           "uplink_gbits_per_s of their racks into the inventory";
  }

  void AddEvidence(Blame& blame, std::string sentence) const {
    if (blame.evidence.size() < kMaxEvidence) blame.evidence.push_back(std::move(sentence));
  }

  void AddRates(const PartState* out, const PartState* in, Blame& blame) const {
    if (out != nullptr) AddEvidence(blame, absl::StrCat("sending: ", Rates(*out)));
    if (in != nullptr) AddEvidence(blame, absl::StrCat("receiving: ", Rates(*in)));
  }

  void AddPort(const PortEvidence& port, Blame& blame) const {
    if (port.crc_errors > 0) {
      AddEvidence(blame, absl::StrCat(port.interface, " received ",
                                      Counted(port.crc_errors, "frame"), " with a wrong checksum"));
    }
    for (const std::string& sentence : port.link) AddEvidence(blame, sentence);
    for (const std::string& sentence : port.card) AddEvidence(blame, sentence);
  }

  // Blames one interface, whose outgoing or incoming direction is at fault.
  Blame OfPort(uint32_t node, const std::string& interface, const PartState* out,
               const PartState* in, bool other_interfaces_are_good) const {
    Blame blame;
    const std::string& name = matrix_.nodes[node].name;
    const PortEvidence* const port = parts_.PortOf(node, interface);
    const std::string where = absl::StrCat(name, interface.empty() ? "" : " ", interface);
    blame.nodes = {node};
    blame.names = {name};
    if (parts_.LinkErrs(port)) {
      blame.kind = BlameKind::kLink;
      blame.message = absl::StrCat(
          "the link of ", where,
          port->crc_errors >= rule_.min_crc_errors ? " loses or damages frames" : " is faulty",
          ": change the cable or the transceiver, then the switch port");
    } else if (port != nullptr && !port->card.empty()) {
      blame.kind = BlameKind::kNic;
      blame.message = absl::StrCat("the card of ", where, " is slower than it should be");
    } else if (out == nullptr || in == nullptr) {
      blame.kind = BlameKind::kLink;
      blame.message = absl::StrCat(
          where, " is slow when it ", in == nullptr ? "sends" : "receives",
          " but not the other way: suspect its cable, transceiver, switch port or card");
    } else if (other_interfaces_are_good) {
      blame.kind = BlameKind::kNic;
      blame.message = absl::StrCat(where,
                                   " is slow in both directions, other interfaces of the node are "
                                   "not: suspect the card, its cable or its switch port");
    } else {
      blame.kind = BlameKind::kNode;
      blame.message = absl::StrCat(
          where,
          " is slow in both directions with all partners: suspect the node, its card or its link");
    }
    if (blame.kind != BlameKind::kNode && !interface.empty()) blame.names.push_back(interface);
    AddRates(out, in, blame);
    if (port != nullptr) AddPort(*port, blame);
    return blame;
  }

  // Corrupted frames mean a bad link, whatever the rates.
  void AddCounters(std::vector<Blame>& blames) const {
    for (uint32_t node = 0; node < matrix_.nodes.size(); ++node) {
      for (const PortEvidence& port : matrix_.nodes[node].ports) {
        if (port.crc_errors < rule_.min_crc_errors) continue;
        const bool told = std::any_of(blames.begin(), blames.end(), [&](const Blame& blame) {
          return blame.nodes == std::vector<uint32_t>{node} &&
                 (blame.names.size() < 2 || blame.names[1] == port.interface);
        });
        if (told) continue;
        Blame& blame = blames.emplace_back();
        blame.kind = BlameKind::kLink;
        blame.names = {matrix_.nodes[node].name, port.interface};
        blame.nodes = {node};
        blame.message = absl::StrCat("the link of ", blame.names[0], " ", port.interface,
                                     " damages frames, though its rates are fine: change the cable "
                                     "or the transceiver, then the switch port");
        AddPort(port, blame);
      }
    }
  }

  // Bad measurements that did not pass through a blamed part, grouped by shared nodes.
  void AddUnexplained(std::vector<Blame>& blames) const {
    std::vector<uint32_t> group(matrix_.nodes.size());
    for (uint32_t i = 0; i < group.size(); ++i) group[i] = i;
    const auto root = [&](uint32_t node) {
      while (group[node] != node) node = group[node] = group[group[node]];
      return node;
    };
    std::vector<size_t> unexplained;
    for (size_t i = 0; i < matrix_.rates.size(); ++i) {
      if (!parts_.IsBad(i) || parts_.IsExplained(i)) continue;
      unexplained.push_back(i);
      group[root(matrix_.rates[i].from)] = root(matrix_.rates[i].to);
    }
    std::map<uint32_t, std::vector<size_t>> groups;
    for (const size_t i : unexplained) groups[root(matrix_.rates[i].from)].push_back(i);
    for (const auto& [first, measurements] : groups) blames.push_back(Unexplained(measurements));
  }

  Blame Unexplained(const std::vector<size_t>& measurements) const {
    Blame blame;
    std::set<uint32_t> nodes;
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    std::set<std::string> uplinks;
    for (const size_t i : measurements) {
      const DirectedRate& rate = matrix_.rates[i];
      nodes.insert({rate.from, rate.to});
      pairs.insert(std::minmax(rate.from, rate.to));
      for (const Entry* entry : parts_.PassedBy(i)) {
        const auto& [part, state] = *entry;
        if (part.kind == Part::kUplink && state.suspected) {
          uplinks.insert(absl::StrCat("the uplink from ", part.first, " to ", part.second));
        }
      }
      AddEvidence(blame,
                  absl::StrFormat("from %s to %s: %.4g Gbit/s%s%s", matrix_.nodes[rate.from].name,
                                  matrix_.nodes[rate.to].name, rate.gbits_per_s,
                                  rate.limit.empty() ? "" : "; ", rate.limit));
    }
    blame.suspects.assign(nodes.begin(), nodes.end());
    blame.pairs.assign(pairs.begin(), pairs.end());
    blame.remedy = RemedyOf(measurements.size(), blame.suspects);
    for (const uint32_t node : nodes) {
      if (blame.names.size() < kMaxNames) blame.names.push_back(matrix_.nodes[node].name);
    }
    std::vector<std::string> suspects = blame.names;
    suspects.insert(suspects.end(), uplinks.begin(), uplinks.end());
    blame.message =
        absl::StrCat(Counted(measurements.size(), "slow measurement"),
                     measurements.size() == 1 ? ", which does not show whether it is "
                                              : ", which do not show whether it is ",
                     absl::StrJoin(suspects, " or "),
                     nodes.size() > blame.names.size() ? " or others" : "", ": ", blame.remedy);
    return blame;
  }

  // Whether each node was measured with several others.
  std::vector<bool> WithSeveralPartners() const {
    constexpr uint32_t kNobody = ~uint32_t{0};
    std::vector<uint32_t> first(matrix_.nodes.size(), kNobody);
    std::vector<bool> several(matrix_.nodes.size());
    const auto meet = [&](uint32_t node, uint32_t partner) {
      if (first[node] == kNobody) first[node] = partner;
      if (first[node] != partner) several[node] = true;
    };
    for (const DirectedRate& rate : matrix_.rates) {
      meet(rate.from, rate.to);
      meet(rate.to, rate.from);
    }
    return several;
  }

  const char* RemedyOf(size_t measurements, const std::vector<uint32_t>& suspects) const {
    if (suspects.size() <= 2) {
      return std::all_of(suspects.begin(), suspects.end(),
                         [&](uint32_t node) { return with_several_partners_[node]; })
                 ? "measure the two again, and check what only they share on their path"
                 : "validate each with a third node";
    }
    if (measurements < matrix_.rates.size()) return "measure them with more partners";
    return "no pair at all is good, so check what they have in common, such as their switch and "
           "its settings, and whether the limit is right";
  }

  const PairMatrix& matrix_;
  const BlameRule& rule_;
  const NetworkParts parts_;
  const std::vector<bool> with_several_partners_ = WithSeveralPartners();
};

constexpr const char* kKindNames[] = {"node", "nic", "link", "uplink", "cannot_tell"};

}  // namespace

bool IsFairUplinkShare(const DirectedRate& rate, const BlameRule& rule) {
  const double share = rate.uplink_share_gbits_per_s;
  if (share <= 0) return false;
  // A share above the ports' speed holds nobody back.
  if (rate.speed_gbits_per_s > 0 && share >= rate.speed_gbits_per_s) return false;
  const double mean =
      rate.uplink_mean_gbits_per_s > 0 ? rate.uplink_mean_gbits_per_s : rate.gbits_per_s;
  return mean >= rule.good_share * share && rate.gbits_per_s >= rule.least_of_share * share;
}

std::vector<Blame> FindBlame(const PairMatrix& matrix, const BlameRule& rule) {
  return BlameTeller(matrix, rule).Tell();
}

v1::Blame ToProto(const Blame& blame) {
  v1::Blame message;
  message.set_kind(kKindNames[static_cast<int>(blame.kind)]);
  for (const std::string& name : blame.names) message.add_names(name);
  message.set_message(blame.message);
  for (const std::string& sentence : blame.evidence) message.add_evidence(sentence);
  return message;
}

}  // namespace muster::controller::validation
