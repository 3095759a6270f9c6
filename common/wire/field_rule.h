// Rules for the fields of messages from a node.
#pragma once

#include <cstddef>
#include <limits>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::wire {

// The characters of a text. All but the first three are ASCII letters and digits with some marks;
// see kAlphabets in message_rules.cc.
enum class Letters {
  kBytes,  // not text
  kText,   // UTF-8, with newlines and tabs, but no other control characters
  kLine,   // without newlines and tabs, too
  kId,     // made by the controller, or a UUID
  kWord,   // a version, an architecture, a kernel module
  kName,   // a device or an interface, as the kernel names it
  kHost,
  kAddress,  // IP, with or without prefix length
  kColons,   // MAC and PCI addresses
  kType,     // of a gres in Slurm
  kDevice,   // a path below /dev
  kBase64,
};

// A row of the table. An empty text means unknown, and is allowed unless it is required; an absent
// message is always allowed.
struct FieldRule {
  absl::string_view field;  // "GpuFacts.slurm_type", in muster.v1
  Letters letters = Letters::kBytes;
  size_t max_bytes = 0;  // of a text
  // The bounds of a number.
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  size_t max_elements = 0;   // of a list; 0: not a list
  bool is_required = false;  // a text may not be empty, an enum not be unspecified
};

// Shorthands for the rows of the tables. Elements of a list of texts may never be empty.
constexpr FieldRule Any(absl::string_view field) { return {.field = field}; }
constexpr FieldRule Text(absl::string_view field, Letters letters, size_t max_bytes) {
  return {.field = field, .letters = letters, .max_bytes = max_bytes};
}
constexpr FieldRule Required(FieldRule rule) {
  rule.is_required = true;
  return rule;
}
constexpr FieldRule Number(absl::string_view field, double least, double most) {
  return {.field = field, .least = least, .most = most};
}
constexpr FieldRule List(size_t max_elements, FieldRule rule) {
  rule.max_elements = max_elements;
  return rule;
}

// The rules for facts: every field has a row.
absl::Span<const FieldRule> FactsRules();
// The rules for all other messages of agents: every text and every list has a row.
absl::Span<const FieldRule> NodeRules();

}  // namespace muster::wire
