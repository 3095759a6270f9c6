// How a machine that boots from the network learns which node it is and whom to ask to join, by the
// word muster.join=… of its kernel's command line. Nothing in it is secret.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

inline constexpr char kJoinWord[] = "muster.join";
// Which node the machine is, where kJoinWord cannot say it.
inline constexpr char kNodeWord[] = "muster.node";

struct JoinWord {
  std::string node;        // in the inventory; "": the word was signed for all nodes
  std::string enrollment;  // host:port of the enrollment listener
  std::string controller;  // host:port of the controller
  std::string ca_pin;      // "sha256:<hex>" of the authority's certificate

  // The word's value: "c001,login1:7444,login1:7443,sha256:…".
  std::string ToString() const;
};

// Reads what ToString() writes. InvalidArgument: it is not that.
absl::StatusOr<JoinWord> ParseJoinWord(absl::string_view value);

}  // namespace muster
