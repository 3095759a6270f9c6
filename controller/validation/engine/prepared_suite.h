// A suite with everything that is known about its nodes before anything starts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/inventory/inventory.h"
#include "controller/validation/schedule/validation_state.h"
#include "controller/validation/suite/found_hardware.h"
#include "controller/validation/suite/hardware.h"
#include "controller/validation/suite/suite.h"
#include "controller/validation/verdict/pair_matrix.h"
#include "controller/validation/verdict/verdict.h"

namespace muster::controller::validation {

// A node's data in the store.
struct EnrolledNode {
  std::string uuid;
  FoundHardware found;
  bool is_witness = false;  // borrowed for this validation
};

struct PreparedSuite {
  Suite suite;
  // A digest of the suite's text and of all hardware files: it identifies what a pass has passed.
  std::string digest;
  std::shared_ptr<const Inventory> inventory;
  std::shared_ptr<const HardwareLibrary> hardware;  // `expectations` point into it
  std::vector<ValidationNode> nodes;                // a witness last
  // The nodes that could be borrowed, best first, as from FindWitnesses().
  std::vector<ValidationNode> witnesses;
  std::vector<RackPower> racks;
  std::map<std::string, Expectation> expectations;  // by node
  std::map<std::string, FoundHardware> found;       // by node
};

// `site` holds playbooks/suites and inventory/hardware. InvalidArgument: errors in the suite, the
// hardware files, the nodes' variables or the selector, with the place; NotFound: there is no such
// suite.
absl::StatusOr<PreparedSuite> PrepareSuite(const std::map<std::string, std::string>& site,
                                           absl::string_view suite_name,
                                           absl::string_view node_selector,
                                           std::shared_ptr<const Inventory> inventory,
                                           const std::map<std::string, EnrolledNode>& enrolled,
                                           Catalog catalog);

// The nodes with the speeds of their ports and of the uplinks of their switches.
std::vector<MatrixNode> MatrixNodesOf(const PreparedSuite& prepared);

}  // namespace muster::controller::validation
