#include "controller/validation/verdict/blame_parts.h"

#include <algorithm>
#include <functional>
#include <set>

#include "controller/validation/verdict/statistics.h"

namespace muster::controller::validation {
namespace {

using RatesByTeller = std::map<uint32_t, std::vector<double>>;

// The rate that good pairs reach. No node alone decides on it: with a fifth of the rates, it does
// not move their 75th percentile past those of the others, and where it has more because they are
// few, a rate that nobody else reached is not usual. Of two nodes, nothing shows which is right.
double UsualRate(const RatesByTeller& by_teller) {
  constexpr size_t kLeastTellers = 5;
  std::vector<std::vector<double>> tellers;
  std::vector<double> fastest;
  for (const auto& [teller, rates] : by_teller) {
    tellers.push_back(rates);
    fastest.push_back(*std::max_element(rates.begin(), rates.end()));
  }
  const double usual = Percentile(FairShares(std::move(tellers), kLeastTellers), 0.75);
  if (fastest.size() < 3) return usual;
  std::nth_element(fastest.begin(), fastest.begin() + 1, fastest.end(), std::greater<>());
  return std::min(usual, fastest[1]);
}

}  // namespace

NetworkParts::NetworkParts(const PairMatrix& matrix, const BlameRule& rule)
    : matrix_(matrix), rule_(rule) {
  Measure();
  Suspect();
  BlameParts();
  BreakTies();
}

// Finds the bad measurements, and the parts that they passed through.
void NetworkParts::Measure() {
  std::map<double, double> usual = UsualRates();
  bad_.resize(matrix_.rates.size());
  parts_of_.resize(matrix_.rates.size());
  for (size_t i = 0; i < matrix_.rates.size(); ++i) {
    const DirectedRate& rate = matrix_.rates[i];
    bad_[i] = IsBadRate(rate, usual[rate.speed_gbits_per_s]);
    // A rate that an uplink held back says neither that the ports are good nor that they are bad.
    if (!IsFairUplinkShare(rate, rule_)) {
      Pass(i, {NetworkPart::kOut, rate.from_interface, "", rate.from});
      Pass(i, {NetworkPart::kIn, rate.to_interface, "", rate.to});
    }
    const std::string& a = matrix_.nodes[rate.from].switch_name;
    const std::string& b = matrix_.nodes[rate.to].switch_name;
    if (!a.empty() && !b.empty() && a != b) Pass(i, {NetworkPart::kUplink, a, b, 0});
  }
}

// The rates that good pairs reach, by the speed of their ports: from pairs that no uplink holds
// back, if there are any.
std::map<double, double> NetworkParts::UsualRates() const {
  std::map<double, RatesByTeller> free, all;
  for (const DirectedRate& rate : matrix_.rates) {
    const uint32_t teller = rate.told_by_sender ? rate.from : rate.to;
    all[rate.speed_gbits_per_s][teller].push_back(rate.gbits_per_s);
    if (!IsFairUplinkShare(rate, rule_)) {
      free[rate.speed_gbits_per_s][teller].push_back(rate.gbits_per_s);
    }
  }
  std::map<double, double> usual;
  for (const auto& [speed, rates] : all) {
    const auto found = free.find(speed);
    usual[speed] = UsualRate(found == free.end() ? rates : found->second);
  }
  return usual;
}

bool NetworkParts::IsBadRate(const DirectedRate& rate, double usual) const {
  if (rate.gbits_per_s <= 0) return true;
  if (IsFairUplinkShare(rate, rule_)) return false;
  if (rate.uplink_share_gbits_per_s > 0) usual = std::min(usual, rate.uplink_share_gbits_per_s);
  return !rate.limit.empty() || rate.gbits_per_s < rule_.good_share * usual;
}

void NetworkParts::Pass(size_t measurement, const NetworkPart& part) {
  Entry& entry = *parts_.try_emplace(part).first;
  entry.second.passed.push_back(measurement);
  entry.second.bad += bad_[measurement];
  parts_of_[measurement].push_back(&entry);
}

void NetworkParts::Suspect() {
  for (auto& [part, state] : parts_) {
    state.suspected = state.bad > 0 && state.BadShare() >= rule_.suspect_share;
  }
}

// The evidence of a bad measurement: the nodes at the other end of the part.
std::pair<uint32_t, uint32_t> NetworkParts::PartnersOf(const NetworkPart& part,
                                                       size_t measurement) const {
  const DirectedRate& rate = matrix_.rates[measurement];
  if (part.kind == NetworkPart::kOut) return {rate.to, 0};
  if (part.kind == NetworkPart::kIn) return {rate.from, 0};
  return {rate.from, rate.to};
}

// The number of bad measurements, by partner, that no equally suspicious part explains.
size_t NetworkParts::OwnEvidence(const Entry& entry) const {
  // Named again, because in clang 14 a lambda cannot capture a structured binding.
  const NetworkPart& part = entry.first;
  const PartState& state = entry.second;
  std::set<std::pair<uint32_t, uint32_t>> partners;
  for (const size_t i : state.passed) {
    if (!bad_[i]) continue;
    const bool explained_elsewhere =
        std::any_of(parts_of_[i].begin(), parts_of_[i].end(), [&](const Entry* other) {
          return other != &entry && other->second.suspected &&
                 other->second.BadShare() >= state.BadShare();
        });
    if (!explained_elsewhere) partners.insert(PartnersOf(part, i));
  }
  return partners.size();
}

void NetworkParts::BlameParts() {
  for (Entry& entry : parts_) {
    if (entry.second.suspected) entry.second.blamed = OwnEvidence(entry) >= rule_.min_evidence;
  }
}

// Decides, by the faults of their ports, between two nodes that the rates leave equally suspicious.
void NetworkParts::BreakTies() {
  std::vector<Entry*> guilty;
  for (size_t i = 0; i < matrix_.rates.size(); ++i) {
    if (!bad_[i] || IsExplained(i)) continue;
    const DirectedRate& rate = matrix_.rates[i];
    const bool sender = HasFault(PortOf(rate.from, rate.from_interface));
    const bool receiver = HasFault(PortOf(rate.to, rate.to_interface));
    if (sender == receiver) continue;
    for (Entry* const entry : parts_of_[i]) {
      if (entry->first.kind == (sender ? NetworkPart::kOut : NetworkPart::kIn)) {
        guilty.push_back(entry);
      }
    }
  }
  for (Entry* const entry : guilty) entry->second.blamed = true;
}

bool NetworkParts::IsExplained(size_t measurement) const {
  const std::vector<Entry*>& parts = parts_of_[measurement];
  return std::any_of(parts.begin(), parts.end(),
                     [](const Entry* entry) { return entry->second.blamed; });
}

bool NetworkParts::HasFault(const PortEvidence* port) const {
  return port != nullptr && (LinkErrs(port) || !port->card.empty());
}

bool NetworkParts::LinkErrs(const PortEvidence* port) const {
  return port != nullptr && (port->crc_errors >= rule_.min_crc_errors || !port->link.empty());
}

const PortEvidence* NetworkParts::PortOf(uint32_t node, const std::string& interface) const {
  for (const PortEvidence& port : matrix_.nodes[node].ports) {
    if (port.interface == interface) return &port;
  }
  return nullptr;
}

}  // namespace muster::controller::validation
