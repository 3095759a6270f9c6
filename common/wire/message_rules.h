// Messages of nodes against the rules of their fields (field_rule.h). A node's word is hostile
// input: whatever reads it reads what passed here.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/wire/field_rule.h"

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace muster::wire {

// nullptr: it has none, and may hold whatever its type allows.
const FieldRule* RuleOf(const google::protobuf::FieldDescriptor& field);

// InvalidArgument: the first breach, by field and kind: "gpus[0].slurm_type: not only letters,
// digits and '_.-'". The value itself is never in it. Numbers must be finite, words of enumerations
// known and times within the years 1 to 9999, whatever the rows say.
absl::Status Check(const google::protobuf::Message& message);

// For what people read: free texts (Letters::kText and kLine) are made plain and cut to their
// length, numbers that are none go, with their element of a list where they are in one, and so do
// unknown fields. No honest agent sends what Check() still refuses then.
void Clean(google::protobuf::Message& message);

// For the sender: does what Clean() does, then removes what still breaks a rule: a field, an
// element, or the end of a list that is too long. `told` hears of each breach: the field of
// `message` that it is in, and what it is. Check() has nothing to say then.
void Fit(google::protobuf::Message& message,
         const std::function<void(absl::string_view field, absl::string_view what)>& told);

}  // namespace muster::wire
