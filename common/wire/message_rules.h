// Checks messages from nodes against the rules of their fields (field_rule.h). Everything that a
// node sends is hostile input: it is read only after it has passed here.
#pragma once

#include <cstddef>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/wire/field_rule.h"

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace muster::wire {

// The most packages that a node names.
inline constexpr size_t kMostPackages = 20'000;

// nullptr: the field has no rule, and may hold whatever its type allows.
const FieldRule* RuleOf(const google::protobuf::FieldDescriptor& field);

// InvalidArgument: the first breach, by field and kind: "gpus[0].slurm_type: not only letters,
// digits and '_.-'". The value itself is never in it. Numbers must be finite, enumerators known and
// times within the years 1 to 9999, whatever the rows say.
absl::Status Check(const google::protobuf::Message& message);

// Cleans the parts that people read: free texts (Letters::kText and kLine) are made plain and cut
// to their length; values that are not numbers are removed, together with the list element that
// holds them, and so are unknown fields. No honest agent sends anything that Check() still refuses
// then.
void Clean(google::protobuf::Message& message);

// For the sender: does what Clean() does, then removes everything that still breaks a rule: a
// field, an element, or the end of a list that is too long. `told` is called for each breach with
// the field of `message` that holds it, and what it is. Check() passes then.
void Fit(google::protobuf::Message& message,
         const std::function<void(absl::string_view field, absl::string_view what)>& told);

}  // namespace muster::wire
