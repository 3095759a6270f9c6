// + - * / // % ** on values, with Python's results.
#pragma once

#include "absl/status/statusor.h"
#include "controller/template/syntax/ast.h"
#include "controller/template/values.h"

namespace muster::tmpl {

// Integers that exceed 64 bits are an error, where Python would continue.
absl::StatusOr<Value> Arithmetic(Context& context, Op op, const Value& a, const Value& b);
// -a and +a.
absl::StatusOr<Value> Sign(Op op, const Value& a);

// "%03d of %s" with the values of a list, or with a single value.
absl::StatusOr<Value> FormatPercent(Context& context, const Value& format, const Value& values);

}  // namespace muster::tmpl
