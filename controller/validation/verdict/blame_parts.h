// Internal to blame.cc: the parts of a network that measurements passed through, and which of them
// are to blame. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "controller/validation/verdict/blame.h"

namespace muster::controller::validation {

// One direction through one part of the network.
struct NetworkPart {
  enum Kind { kOut, kIn, kUplink } kind;
  std::string first;   // interface of the node; switch that the traffic leaves
  std::string second;  // switch that the traffic enters
  uint32_t node = 0;

  friend bool operator<(const NetworkPart& a, const NetworkPart& b) {
    return std::tie(a.kind, a.node, a.first, a.second) <
           std::tie(b.kind, b.node, b.first, b.second);
  }
};

struct PartState {
  std::vector<size_t> passed;  // measurements
  size_t bad = 0;
  bool suspected = false;
  bool blamed = false;

  double BadShare() const { return static_cast<double>(bad) / static_cast<double>(passed.size()); }
};

// All parts of one matrix; measurements are indices into its `rates`.
class NetworkParts {
 public:
  using Entry = std::pair<const NetworkPart, PartState>;

  // `matrix` and `rule` must outlive the object.
  NetworkParts(const PairMatrix& matrix, const BlameRule& rule);

  const std::map<NetworkPart, PartState>& all() const { return parts_; }
  const std::vector<Entry*>& PassedBy(size_t measurement) const { return parts_of_[measurement]; }
  bool IsBad(size_t measurement) const { return bad_[measurement]; }
  // Whether it passed through a part that is blamed.
  bool IsExplained(size_t measurement) const;
  // nullptr: nothing is known about it.
  const PortEvidence* PortOf(uint32_t node, const std::string& interface) const;
  // `port` may be nullptr.
  bool LinkErrs(const PortEvidence* port) const;

 private:
  void Measure();
  std::map<double, double> UsualRates() const;
  bool IsBadRate(const DirectedRate& rate, double usual) const;
  void Pass(size_t measurement, const NetworkPart& part);
  void Suspect();
  std::pair<uint32_t, uint32_t> PartnersOf(const NetworkPart& part, size_t measurement) const;
  size_t OwnEvidence(const Entry& entry) const;
  void BlameParts();
  void BreakTies();
  bool HasFault(const PortEvidence* port) const;

  const PairMatrix& matrix_;
  const BlameRule& rule_;
  std::vector<bool> bad_;
  std::map<NetworkPart, PartState> parts_;
  std::vector<std::vector<Entry*>> parts_of_;  // of each measurement
};

}  // namespace muster::controller::validation
