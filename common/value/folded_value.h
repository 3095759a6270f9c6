// Values that take little memory while nobody looks into them: a JSON binary with subtype 2.
//
// The facts of a machine with its GPUs take 50 kB as values and a tenth of that folded. Folded
// values occur only as entries of objects; code that takes an entry out of an object unfolds it.
#pragma once

#include <cstddef>

#include "common/value/secret_value.h"

namespace muster {

// The list or object in folded form. REQUIRES: it holds no secret.
Value Fold(const Value& value);
bool IsFolded(const Value& value);
// REQUIRES: IsFolded(value), for these two.
size_t FoldedBytes(const Value& value);
Value Unfold(const Value& value);
// `value` with all folded values in it, at any depth, unfolded.
Value UnfoldAll(Value value);

}  // namespace muster
