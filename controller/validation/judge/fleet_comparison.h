// Compares what equal parts of a fleet measured. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "controller/validation/judge/measurement.h"

namespace muster::controller::validation {

// GPUs of one model, VBIOS, driver and power limit are one population, ports of one name and model
// that are expected to run at one speed another, both of machines of one node_model where the
// inventory names it, and so are nodes, or their file systems of one path, of one hardware class
// that names the machine or its GPUs, provided that the same engines measured with the same
// parameters; each needs statistics.h's kMinPeers.
//
// Takes results as they come and keeps only their values, 24 bytes each: 10,000 nodes measure six
// million, whose results would take gigabytes. Not thread-safe.
class FleetComparison {
 public:
  // `check` is any number by which findings name the check.
  void Add(uint32_t check, const Measurement& measurement);
  // Ordered by populations: the same results give the same findings.
  std::vector<ComparedFinding> Judge() const;

 private:
  // Numbers texts, from 0.
  class Texts {
   public:
    uint32_t NumberOf(absl::string_view text);
    const std::string& operator[](uint32_t number) const { return *texts_[number]; }

   private:
    absl::node_hash_map<std::string, uint32_t> numbers_;
    std::vector<const std::string*> texts_;  // its keys
  };

  // Texts.
  struct Key {
    uint32_t check;  // with its stage and parameters
    uint32_t peers;  // the parts that may be compared
    uint32_t metric, variant;

    friend bool operator==(const Key& a, const Key& b) {
      return a.check == b.check && a.peers == b.peers && a.metric == b.metric &&
             a.variant == b.variant;
    }
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.check, key.peers, key.metric, key.variant);
    }
  };

  struct Value {
    uint32_t check, node, subject, slot;  // the last three are texts
    double value;
  };

  struct Population {
    std::string unit;
    checks::Better better = checks::Better::kNeither;
    const char* parts = "";  // "GPUs"
    // The file with the limits of the first part that has one; nullptr: none has.
    const HardwareModel* model = nullptr;
    std::vector<Value> values;
  };

  void JudgePopulation(const Key& key, const Population& population,
                       std::vector<ComparedFinding>& found) const;
  // Compares the values with the usual range of `peers`.
  void JudgeAmong(const Key& key, const Population& population, const std::vector<double>& peers,
                  absl::Span<const Value> values, std::vector<ComparedFinding>& found) const;

  Texts texts_;
  absl::flat_hash_map<Key, Population> populations_;
};

}  // namespace muster::controller::validation
