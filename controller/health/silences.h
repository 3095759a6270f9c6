// Conditions that are left alone for a time. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/store/tables.h"

namespace muster::controller::health {

// The silences in force at one moment.
class Silences {
 public:
  Silences() = default;
  Silences(std::vector<HealthSilenceRecord> records, absl::Time now);

  // The one that covers it and ends last; nullptr: none does.
  const HealthSilenceRecord* Find(const std::string& node, absl::string_view condition) const;
  bool empty() const { return silences_.empty(); }

 private:
  struct Silence {
    HealthSilenceRecord record;
    absl::flat_hash_set<std::string> nodes;
  };
  std::vector<Silence> silences_;
};

}  // namespace muster::controller::health
