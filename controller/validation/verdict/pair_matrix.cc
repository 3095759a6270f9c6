#include "controller/validation/verdict/pair_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "controller/validation/verdict/population.h"

namespace muster::controller::validation {
namespace {

enum class Direction { kReceive, kSend };

// Metrics that are a rate in one direction without other traffic, by the beginnings of their names;
// "duplex_…" are not.
struct OneWay {
  absl::string_view begins;
  Direction direction;
  absl::string_view measured_by;  // matches a sender's metric with the receiver's
};
constexpr absl::string_view kRdma = "rdma";
constexpr OneWay kOneWay[] = {
    {"receive", Direction::kReceive, "tcp"},
    {"send", Direction::kSend, "tcp"},
    {"write_receive", Direction::kReceive, kRdma},
    {"write_send", Direction::kSend, kRdma},
};

// The most values of a metric that one result has: rdma-pair measures up to 16 ports of each side,
// and each of them at least once.
constexpr size_t kMostVariants = 32;

const OneWay* OneWayOf(const checks::MetricSpec& metric) {
  if (metric.unit != "Gbit/s" || metric.better != checks::Better::kHigher) return nullptr;
  for (const OneWay& way : kOneWay) {
    if (absl::StartsWith(metric.name, way.begins)) return &way;
  }
  return nullptr;
}

// Faults of ports that come from cables, transceivers and switch ports; the others come from the
// card and its slot.
bool SpeaksForLink(const std::string& code) {
  for (const char* word :
       {"link_down", "link_flapped", "crc_errors", "symbol_errors", "wrong_speed", "half_duplex"}) {
    if (code == word) return true;
  }
  return false;
}

// Whether a finding is about a value of the pair, which the partner and everything between the two
// influence. All others are this node's own: faults that its worker saw, counters of its port,
// missing values.
bool IsOfBothSides(const v1::Finding& finding) {
  if (!finding.has_value()) return false;
  return finding.unit() == "Gbit/s" || finding.unit() == "µs" ||
         finding.metric() == "retransmits" || finding.metric() == "path_mtu";
}

// Whether a failed verdict of a pair comes only from values of both sides.
bool FailsByBothSides(const v1::CheckVerdict& verdict) {
  bool fails = false;
  for (const v1::Finding& finding : verdict.findings()) {
    if (finding.outcome() != v1::OUTCOME_FAIL) continue;
    if (!IsOfBothSides(finding)) return false;
    fails = true;
  }
  return fails;
}

// The sentence of a verdict that fails by values of both sides about a direction: `metric` is its
// rate there.
std::string LimitOf(const v1::CheckVerdict& verdict, const v1::Metric& metric) {
  for (const v1::Finding& finding : verdict.findings()) {
    if (finding.outcome() != v1::OUTCOME_FAIL || !IsOfBothSides(finding)) continue;
    const bool is_this = finding.metric() == metric.name() &&
                         finding.variant() == metric.variant() &&
                         finding.subject() == metric.subject();
    // The other direction has a metric of its own.
    const bool is_one_way =
        finding.unit() == "Gbit/s" &&
        std::any_of(std::begin(kOneWay), std::end(kOneWay), [&](const OneWay& way) {
          return absl::StartsWith(finding.metric(), way.begins);
        });
    if (is_this || !is_one_way) return finding.message();
  }
  return "";
}

// In Gbit/s, as the node's kernel says it: "200 Gb/sec (4X HDR)" of an RDMA port, Mbit/s of
// another. 0: not known.
double SpeedOf(const v1::Subject& port) {
  constexpr double kMbitsInGbit = 1000;
  const std::string rate = AttributeOf(port, "rate");
  const size_t unit = rate.find(" Gb/sec");
  const bool is_rdma = unit != std::string::npos;
  double speed = 0;
  if (!absl::SimpleAtod(is_rdma ? rate.substr(0, unit) : AttributeOf(port, "speed_mbits"),
                        &speed) ||
      !std::isfinite(speed) || speed <= 0) {
    return 0;
  }
  return is_rdma ? speed : speed / kMbitsInGbit;
}

double Retransmits(const v1::CheckResult& result) {
  double sum = 0;
  for (const v1::Metric& metric : result.metrics()) {
    if (metric.name() == "retransmits" && std::isfinite(metric.value())) sum += metric.value();
  }
  return sum;
}

// Far more than a node has, and than a blame names: what a node invents is no load.
constexpr size_t kMaxPorts = 256;
constexpr size_t kMaxSentences = 20;

void AddNew(const std::string& sentence, std::vector<std::string>& sentences) {
  if (sentences.size() >= kMaxSentences) return;
  if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) {
    sentences.push_back(sentence);
  }
}

}  // namespace

void PortFaults::Add(const std::string& node, const v1::CheckResult& result) {
  std::set<absl::string_view> ports;
  for (const v1::Subject& subject : result.subjects()) {
    if (subject.kind() == "nic" && ports.size() < kMaxPorts) ports.insert(subject.id());
  }
  if (ports.empty()) return;
  for (const v1::Fault& fault : result.faults()) {
    if (ports.count(fault.subject()) == 0) continue;
    PortEvidence& port = PortOf(node, fault.subject());
    AddNew(fault.message(), SpeaksForLink(fault.code()) ? port.link : port.card);
  }
  for (const v1::Metric& metric : result.metrics()) {
    if (!(metric.value() > 0) || metric.unit() != "1") continue;  // most are not counts, or are 0
    const bool crc =
        absl::StrContains(metric.name(), "crc") || absl::StrContains(metric.variant(), "crc");
    if (!crc || ports.count(metric.subject()) == 0) continue;
    PortOf(node, metric.subject()).crc_errors += metric.value();
  }
}

void PortFaults::Add(const PortFaults& others) {
  for (const auto& [node, ports] : others.nodes_) {
    for (const PortEvidence& other : ports) {
      PortEvidence& port = PortOf(node, other.interface);
      port.crc_errors += other.crc_errors;
      for (const std::string& sentence : other.link) AddNew(sentence, port.link);
      for (const std::string& sentence : other.card) AddNew(sentence, port.card);
    }
  }
}

const std::vector<PortEvidence>* PortFaults::Of(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

PortEvidence& PortFaults::PortOf(const std::string& node, const std::string& interface) {
  std::vector<PortEvidence>& ports = nodes_[node];
  const auto found = std::find_if(ports.begin(), ports.end(), [&](const PortEvidence& port) {
    return port.interface == interface;
  });
  if (found != ports.end()) return *found;
  ports.push_back({interface, 0, {}, {}});
  return ports.back();
}

// The rates of the pairs so far.
class PairMatrixMaker::Rates {
 public:
  explicit Rates(const std::vector<MatrixNode>& nodes) : nodes_(nodes) {
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      places_[nodes[i].name] = i;
      matrix_.nodes.push_back({nodes[i].name, nodes[i].switch_name, {}});
      knows_uplinks_ = knows_uplinks_ || nodes[i].uplink_gbits_per_s > 0;
    }
  }

  void Add(const PairResult& pair) {
    const auto own = places_.find(pair.node);
    const auto partner = places_.find(pair.partner);
    if (own == places_.end() || partner == places_.end()) return;
    const uint32_t round = CountCrossing(pair.round, own->second, partner->second);
    if (pair.result == nullptr) return;
    faults_.Add(nodes_[own->second].name, *pair.result);
    std::array<size_t, std::size(kOneWay)> taken = {};
    std::set<absl::string_view> ports;
    for (const v1::Metric& metric : pair.result->metrics()) {
      const checks::MetricSpec* const spec = FindMetric(*pair.spec, metric.name());
      const OneWay* const way = spec == nullptr ? nullptr : OneWayOf(*spec);
      if (way == nullptr || !std::isfinite(metric.value())) continue;
      if (++taken[static_cast<size_t>(way - kOneWay)] > kMostVariants) continue;
      ports.insert(metric.subject());
      const bool receives = way->direction == Direction::kReceive;
      const uint32_t from = receives ? partner->second : own->second;
      const uint32_t to = receives ? own->second : partner->second;
      Measured& measured =
          rates_[{from, to,
                  absl::StrCat(way->measured_by, metric.name().substr(way->begins.size()), " ",
                               metric.variant())}];
      measured.rate.from = from;
      measured.rate.to = to;
      measured.round = round;
      measured.over_rdma = way->measured_by == kRdma;
      (receives ? measured.rate.to_interface : measured.rate.from_interface) = metric.subject();
      if (receives || !measured.by_receiver) measured.rate.gbits_per_s = metric.value();
      measured.by_receiver = measured.by_receiver || receives;
      measured.rate.told_by_sender = !measured.by_receiver;
      if (pair.verdict != nullptr && measured.rate.limit.empty() &&
          pair.verdict->outcome() == v1::OUTCOME_FAIL) {
        measured.rate.limit = LimitOf(*pair.verdict, metric);
      }
      // The sending side counts them.
      if (!receives) measured.rate.retransmits = Retransmits(*pair.result);
    }
    const bool is_other = IsOfOtherPort(*pair.result, nodes_[own->second].interfaces);
    for (const v1::Subject& subject : pair.result->subjects()) {
      if (subject.kind() != "nic" || ports.count(subject.id()) == 0) continue;
      if (is_other) other_ports_.insert({own->second, subject.id()});
      const double speed = SpeedOf(subject);
      if (speed > 0) reported_speeds_[{own->second, subject.id()}] = speed;
    }
  }

  PairMatrix Finish(const PortFaults& others) {
    faults_.Add(others);
    for (BlameNode& node : matrix_.nodes) {
      if (const std::vector<PortEvidence>* ports = faults_.Of(node.name)) node.ports = *ports;
    }
    SetSpeeds();
    if (knows_uplinks_) ShareUplinks();
    for (auto& [key, measured] : rates_) matrix_.rates.push_back(std::move(measured.rate));
    return std::move(matrix_);
  }

 private:
  struct Measured {
    DirectedRate rate;
    bool by_receiver = false;
    bool over_rdma = false;
    uint32_t round = 0;
  };

  void SetSpeeds() {
    // Peers vote on the speed of their ports of one name, one vote each. Of two votes the slower
    // one counts, so that nobody makes the port of another faster than it is.
    std::map<std::pair<absl::string_view, absl::string_view>, std::vector<double>> of_peers;
    for (const auto& [port, speed] : reported_speeds_) {
      const std::string& peers = nodes_[port.first].rdma_peers;
      if (!peers.empty()) of_peers[{peers, port.second}].push_back(speed);
    }
    for (auto& [port, speeds] : of_peers) std::sort(speeds.begin(), speeds.end());
    const auto speed_of = [&](uint32_t place, const std::string& interface, bool over_rdma) {
      const MatrixNode& node = nodes_[place];
      if (!over_rdma && node.speed_gbits_per_s > 0 && other_ports_.count({place, interface}) == 0) {
        return node.speed_gbits_per_s;
      }
      if (over_rdma && !node.rdma_peers.empty()) {
        const auto found = of_peers.find({node.rdma_peers, interface});
        return found == of_peers.end() ? 0 : found->second[(found->second.size() - 1) / 2];
      }
      const auto found = reported_speeds_.find({place, interface});
      return found == reported_speeds_.end() ? 0 : found->second;
    };
    for (auto& [key, measured] : rates_) {
      DirectedRate& rate = measured.rate;
      rate.speed_gbits_per_s =
          std::min(speed_of(rate.from, rate.from_interface, measured.over_rdma),
                   speed_of(rate.to, rate.to_interface, measured.over_rdma));
    }
  }

  bool Crosses(uint32_t a, uint32_t b) const {
    const std::string &from = nodes_[a].switch_name, &to = nodes_[b].switch_name;
    return !from.empty() && !to.empty() && from != to;
  }

  // The number of the round. Both sides of a pair report it. Where no uplink is known, there is
  // nothing to count.
  uint32_t CountCrossing(absl::string_view name, uint32_t a, uint32_t b) {
    if (!knows_uplinks_) return 0;
    const uint32_t round =
        rounds_.try_emplace(std::string(name), static_cast<uint32_t>(rounds_.size())).first->second;
    if (!Crosses(a, b) || !crossing_.insert({round, std::min(a, b), std::max(a, b)}).second) {
      return round;
    }
    for (const uint32_t node : {a, b}) ++loads_[{round, nodes_[node].switch_name}];
    return round;
  }

  // The traffic over the uplinks of a switch, one way in a round, for one kind of measurement.
  struct Traffic {
    double gbits_per_s = 0;
    size_t rates = 0;

    double Mean() const { return gbits_per_s / static_cast<double>(rates); }
  };

  // Computes the least that the uplinks at both ends leave to each of the pairs that load them, and
  // the rates that these pairs reached.
  void ShareUplinks() {
    using Key = std::tuple<uint32_t, absl::string_view, bool, absl::string_view>;
    std::map<Key, Traffic> traffic;  // by round, switch, whether it leaves it, what was measured
    for (const auto& [key, measured] : rates_) {
      const auto& [from, to, what] = key;
      if (!Crosses(from, to)) continue;
      for (const bool leaves : {true, false}) {
        Traffic& here =
            traffic[{measured.round, nodes_[leaves ? from : to].switch_name, leaves, what}];
        here.gbits_per_s += measured.rate.gbits_per_s;
        ++here.rates;
      }
    }
    for (auto& [key, measured] : rates_) {
      const auto& [from, to, what] = key;
      if (!Crosses(from, to)) continue;
      for (const bool leaves : {true, false}) {
        const MatrixNode& node = nodes_[leaves ? from : to];
        if (node.uplink_gbits_per_s <= 0) continue;
        const double share = node.uplink_gbits_per_s /
                             static_cast<double>(loads_.at({measured.round, node.switch_name}));
        double& least = measured.rate.uplink_share_gbits_per_s;
        if (least > 0 && least <= share) continue;
        least = share;
        measured.rate.uplink_mean_gbits_per_s =
            traffic.at({measured.round, node.switch_name, leaves, what}).Mean();
      }
    }
  }

  const std::vector<MatrixNode>& nodes_;
  bool knows_uplinks_ = false;
  absl::flat_hash_map<std::string, uint32_t> places_;
  // from, to, and the kind of measurement ("tcp_gbits ", "rdma_gbits 2" for the second pair of
  // ports): one measurement that both sides report.
  std::map<std::tuple<uint32_t, uint32_t, std::string>, Measured> rates_;
  std::map<std::pair<uint32_t, std::string>, double> reported_speeds_;  // by node and interface
  // The ports that are none of the inventory's.
  std::set<std::pair<uint32_t, std::string>> other_ports_;
  absl::flat_hash_map<std::string, uint32_t> rounds_;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> crossing_;  // round and nodes
  std::map<std::pair<uint32_t, std::string>, size_t> loads_;     // pairs, by round and switch
  PortFaults faults_;
  PairMatrix matrix_;
};

PairMatrixMaker::PairMatrixMaker(const std::vector<MatrixNode>& nodes)
    : rates_(std::make_unique<Rates>(nodes)) {}
PairMatrixMaker::~PairMatrixMaker() = default;
PairMatrixMaker::PairMatrixMaker(PairMatrixMaker&&) noexcept = default;

void PairMatrixMaker::Add(const PairResult& pair) { rates_->Add(pair); }
PairMatrix PairMatrixMaker::Finish(const PortFaults& others) { return rates_->Finish(others); }

bool MeasuresTcp(const checks::CheckSpec& spec) {
  return std::any_of(spec.metrics.begin(), spec.metrics.end(), [](const auto& metric) {
    const OneWay* const way = OneWayOf(metric);
    return way != nullptr && way->measured_by == "tcp";
  });
}

void ApplyBlame(const PairMatrix& matrix, const std::vector<Blame>& blames,
                absl::Span<const PairVerdict> verdicts) {
  absl::flat_hash_map<std::string, uint32_t> places;
  for (uint32_t i = 0; i < matrix.nodes.size(); ++i) places[matrix.nodes[i].name] = i;
  std::map<uint32_t, const Blame*> blamed;
  std::map<std::pair<uint32_t, uint32_t>, const Blame*> unexplained;
  std::map<std::pair<std::string, std::string>, const Blame*> uplinks;
  for (const Blame& blame : blames) {
    for (const uint32_t node : blame.nodes) blamed.emplace(node, &blame);
    for (const auto& pair : blame.pairs) unexplained[pair] = &blame;
    if (blame.kind == BlameKind::kUplink) uplinks[{blame.names[0], blame.names[1]}] = &blame;
  }
  // Pairs that cross an uplink and are no slower than its capacity makes them.
  std::map<std::pair<uint32_t, uint32_t>, double> fair_shares;
  for (const DirectedRate& rate : matrix.rates) {
    double& share = fair_shares.try_emplace(std::minmax(rate.from, rate.to), -1).first->second;
    if (!IsFairUplinkShare(rate)) share = 0;
    if (share != 0) share = rate.uplink_share_gbits_per_s;
  }
  std::set<uint32_t> told;
  const auto tell = [&](uint32_t node, const Blame& blame, v1::CheckVerdict* verdict) {
    if (!told.insert(node).second) return;
    v1::Finding finding;
    finding.set_outcome(v1::OUTCOME_FAIL);
    finding.set_metric("blamed");
    if (blame.names.size() > 1) finding.set_subject(blame.names[1]);
    finding.set_source("pairs with other nodes");
    finding.set_message(blame.message);
    AddFinding(std::move(finding), verdict);
  };
  for (const PairVerdict& pair : verdicts) {
    const auto own = places.find(pair.node);
    const auto partner = places.find(pair.partner);
    if (own == places.end() || partner == places.end()) continue;
    if (const auto guilty = blamed.find(own->second); guilty != blamed.end()) {
      tell(own->second, *guilty->second, pair.verdict);
      continue;
    }
    const auto open = unexplained.find(std::minmax(own->second, partner->second));
    if (pair.verdict->outcome() == v1::OUTCOME_PASS && open != unexplained.end()) {
      v1::Finding finding;
      finding.set_outcome(v1::OUTCOME_UNKNOWN);
      finding.set_metric("blamed");
      finding.set_source("pairs with other nodes");
      finding.set_message(open->second->message);
      AddFinding(std::move(finding), pair.verdict);
    }
    if (pair.verdict->outcome() != v1::OUTCOME_FAIL || !FailsByBothSides(*pair.verdict)) continue;
    const Blame* reason = nullptr;
    if (const auto guilty = blamed.find(partner->second); guilty != blamed.end()) {
      reason = guilty->second;
    } else {
      const auto uplink = uplinks.find(std::minmax(matrix.nodes[own->second].switch_name,
                                                   matrix.nodes[partner->second].switch_name));
      if (uplink != uplinks.end()) reason = uplink->second;
    }
    const auto share = fair_shares.find(std::minmax(own->second, partner->second));
    if (reason == nullptr && share != fair_shares.end() && share->second > 0) {
      pair.verdict->set_outcome(v1::OUTCOME_UNKNOWN);
      pair.verdict->set_excused(true);
      pair.verdict->set_reason(
          absl::StrFormat("not this node's fault: the uplink leaves each pair %.4g Gbit/s when all "
                          "pairs of a round cross it at once: %s",
                          share->second, pair.verdict->reason()));
      continue;
    }
    if (reason == nullptr) {
      pair.verdict->set_outcome(v1::OUTCOME_UNKNOWN);
      pair.verdict->set_reason(absl::StrCat(
          "cannot tell whether ", std::string(pair.node), ", ", std::string(pair.partner),
          " or the network between them is at fault: ", pair.verdict->reason(), "; ",
          open != unexplained.end() ? open->second->remedy : "validate each with a third node"));
      continue;
    }
    pair.verdict->set_outcome(v1::OUTCOME_UNKNOWN);
    pair.verdict->set_excused(true);
    pair.verdict->set_reason(absl::StrCat("not this node's fault: ", reason->message));
  }
}

}  // namespace muster::controller::validation
