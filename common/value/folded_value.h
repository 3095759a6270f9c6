// Values that take little memory and no time while nobody looks into them: a JSON binary that holds
// the wire format of a message's field, or the place of a value that lies elsewhere.
//
// The facts of a machine with its GPUs take 50 kB as values and less than a tenth of that folded. A
// list of users in the variables of a group is the same for thousands of nodes, and lent to each.
// Folded values occur only as entries of objects; code that takes an entry out of an object unfolds
// it.
#pragma once

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "common/value/secret_value.h"

namespace google::protobuf {
class Message;
}

namespace muster {

// What ProtoToValue() makes of the message of this generated type with these bytes, its messages,
// maps and lists folded unless they are empty. Nothing: the bytes are not a message. Bytes inside a
// folded field are not looked at; a field that is not well-formed unfolds to null.
std::optional<Value> FoldMessage(const google::protobuf::Message& type, absl::string_view bytes);

// Folds a value by reference: `value` must stay where it is for as long as any copy of the result.
Value Lend(const Value& value);

bool IsFolded(const Value& value);
// REQUIRES: IsFolded(value), for these three.
size_t FoldedBytes(const Value& value);
// The value that was lent, whose entries may be folded; nullptr: it is a message's field.
const Value* LentValue(const Value& value);
// A copy of a lent value has folded entries where the lent value has them.
Value Unfold(const Value& value);
// `value` with all folded values in it, at any depth, unfolded.
Value UnfoldAll(Value value);

}  // namespace muster
