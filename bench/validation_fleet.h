// Made-up measurements of a cluster in the suite acceptance: for bench/validation_bench.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/validation/schedule/pair_schedule.h"
#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/suite/hardware.h"
#include "controller/validation/suite/suite.h"
#include "controller/validation/verdict/pair_matrix.h"
#include "controller/validation/verdict/verdict.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// One check on one node, or its side of a pair.
struct FleetRow {
  uint32_t node = 0;  // its place in Fleet::nodes
  CheckPart part;     // ended; its outcome is not set
  const SuiteStage* stage = nullptr;
  const SuiteCheck* check = nullptr;
  std::string parameters_digest;
  v1::CheckResult result;
};

// Nodes of four GPUs and a port of 10 Gbit/s, 40 per switch, that all passed the checkout's suite
// with its hardware files; but the pairs of one node in a thousand were slow. Rows refer to the
// suite and the expectation to the library, so it must not be moved.
struct Fleet {
  Fleet() = default;
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  Suite suite;
  HardwareLibrary library;
  Expectation expectation;
  std::vector<MatrixNode> nodes;
  std::vector<PairPlace> places;
  size_t rounds = 0;  // of pairs, as in the suite
  std::deque<FleetRow> rows;
};

bool IsSlow(uint32_t node);

// Reads playbooks/suites/acceptance.yaml and inventory/hardware below the working directory.
absl::StatusOr<std::unique_ptr<Fleet>> MakeFleet(uint32_t nodes);

}  // namespace muster::controller::validation
