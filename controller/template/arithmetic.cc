#include "controller/template/arithmetic.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace muster::tmpl {
namespace {

constexpr absl::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};

absl::Status Overflow() {
  return absl::InvalidArgumentError("the result does not fit into 64 bits");
}
absl::Status DivisionByZero() { return absl::InvalidArgumentError("division by zero"); }

// Rounds towards minus infinity, as Python does.
int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

double FloatModulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

absl::StatusOr<Value> IntegerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return DivisionByZero();
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return Overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return Overflow();
  }
  return Value(result);
}

absl::StatusOr<Value> Integers(Op op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case Op::kAdd:
      return __builtin_add_overflow(a, b, &result) ? absl::StatusOr<Value>(Overflow())
                                                   : Value(result);
    case Op::kSubtract:
      return __builtin_sub_overflow(a, b, &result) ? absl::StatusOr<Value>(Overflow())
                                                   : Value(result);
    case Op::kMultiply:
      return __builtin_mul_overflow(a, b, &result) ? absl::StatusOr<Value>(Overflow())
                                                   : Value(result);
    case Op::kPower:
      return IntegerPower(a, b);
    default:
      break;
  }
  if (b == 0) return DivisionByZero();
  if (op == Op::kDivide) return Value(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1) {
    if (op == Op::kModulo) return Value(0);
    return a == INT64_MIN ? absl::StatusOr<Value>(Overflow()) : Value(-a);
  }
  const int64_t quotient = FloorDivide(a, b);
  return Value(op == Op::kFloorDivide ? quotient : a - quotient * b);
}

absl::StatusOr<Value> Floats(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return Value(a + b);
    case Op::kSubtract:
      return Value(a - b);
    case Op::kMultiply:
      return Value(a * b);
    case Op::kPower: {
      if (a == 0 && b < 0) return DivisionByZero();
      const double power = std::pow(a, b);
      if (std::isnan(power) && !std::isnan(a) && !std::isnan(b)) {
        return absl::InvalidArgumentError("a negative number has no such power");
      }
      if (std::isinf(power) && !std::isinf(a) && !std::isinf(b)) {
        return absl::InvalidArgumentError("the result is too large");
      }
      return Value(power);
    }
    default:
      break;
  }
  if (b == 0) return DivisionByZero();
  if (op == Op::kDivide) return Value(a / b);
  if (op == Op::kModulo) return Value(FloatModulo(a, b));
  const double quotient = (a - FloatModulo(a, b)) / b;
  const double floored = std::floor(quotient);
  return Value(quotient - floored > 0.5 ? floored + 1 : floored);
}

absl::StatusOr<Value> Repeat(Context& context, const Value& what, int64_t times) {
  if (times < 0) times = 0;
  const uint64_t count = static_cast<uint64_t>(times);
  if (IsText(what)) {
    const absl::string_view text = Text(context, what);
    uint64_t size = 0;
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(text.size()), &size)) size = UINT64_MAX;
    if (!context.budget.SpendText(size)) return context.budget.status();
    std::string out;
    out.reserve(size);
    for (uint64_t i = 0; i < count && !text.empty(); ++i) absl::StrAppend(&out, text);
    return Value(out);
  }
  Value out = Value::array();
  for (uint64_t i = 0; i < count && !what.empty(); ++i) {
    SpendCopy(context, what);
    if (!context.budget.status().ok()) return context.budget.status();
    for (const Value& element : what) out.push_back(element);
  }
  return out;
}

absl::StatusOr<Value> AddSequences(Context& context, const Value& a, const Value& b) {
  if (IsText(a)) {
    const absl::string_view left = Text(context, a), right = Text(context, b);
    if (!context.budget.SpendText(left.size() + right.size())) return context.budget.status();
    return Value(absl::StrCat(left, right));
  }
  SpendCopy(context, a);
  SpendCopy(context, b);
  if (!context.budget.status().ok()) return context.budget.status();
  Value out = a;
  for (const Value& element : b) out.push_back(element);
  return out;
}

}  // namespace

absl::StatusOr<Value> Arithmetic(Context& context, Op op, const Value& a, const Value& b) {
  if (IsNumber(a) && IsNumber(b)) {
    int64_t x = 0, y = 0;
    if (ToInteger(a, &x) && ToInteger(b, &y)) return Integers(op, x, y);
    return Floats(op, ToDouble(a), ToDouble(b));
  }
  if (op == Op::kAdd && ((IsText(a) && IsText(b)) || (a.is_array() && b.is_array()))) {
    return AddSequences(context, a, b);
  }
  if (op == Op::kModulo && IsText(a)) return FormatPercent(context, a, b);
  int64_t times = 0;
  if (op == Op::kMultiply && (IsText(a) || a.is_array()) && ToInteger(b, &times))
    return Repeat(context, a, times);
  if (op == Op::kMultiply && (IsText(b) || b.is_array()) && ToInteger(a, &times))
    return Repeat(context, b, times);
  const bool joins = op == Op::kAdd && (IsText(a) || IsText(b));
  return absl::InvalidArgumentError(
      absl::StrCat("'", kSigns[static_cast<int>(op)], "' does not work on ", TypeName(a), " and ",
                   TypeName(b), joins ? "; '~' joins values of any type as text" : ""));
}

absl::StatusOr<Value> Sign(Op op, const Value& a) {
  int64_t integer = 0;
  if (!IsNumber(a)) {
    return absl::InvalidArgumentError(absl::StrCat("a sign before ", TypeName(a)));
  }
  if (!ToInteger(a, &integer)) return Value(op == Op::kNegate ? -ToDouble(a) : ToDouble(a));
  if (op != Op::kNegate) return Value(integer);
  if (integer == INT64_MIN) return Overflow();
  return Value(-integer);
}

}  // namespace muster::tmpl
