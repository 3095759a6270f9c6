// The part of Evaluator that computes expressions.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "controller/template/arithmetic.h"
#include "controller/template/evaluator.h"
#include "controller/template/instead.h"

namespace muster::tmpl {
namespace {

ValuePtr LoopIndex(size_t n) { return NewValue(static_cast<int64_t>(n)); }

constexpr const char* kLoopAttributes[] = {
    "index",  "index0", "revindex", "revindex0", "first",    "last",
    "length", "depth",  "depth0",   "previtem",  "nextitem",
};

}  // namespace

absl::StatusOr<ValuePtr> Evaluator::Evaluate(const Expr& expr) {
  ASSIGN_OR_RETURN(ValuePtr value, EvaluateLoosely(expr));
  if (value == nullptr) return UndefinedError(expr);
  return value;
}

absl::StatusOr<Value> Evaluator::EvaluateWhole(const Expr& expr) {
  ASSIGN_OR_RETURN(const ValuePtr value, Evaluate(expr));
  Value whole = SpendUnfoldAll(context_, *value);
  if (!budget_.status().ok()) return ErrorAt(expr.place, budget_.status());
  return whole;
}

absl::StatusOr<ValuePtr> Evaluator::EvaluateLoosely(const Expr& expr) {
  if (!budget_.Spend(1)) return ErrorAt(expr.place, budget_.status());
  switch (expr.kind) {
    case ExprKind::kLiteral:
      return expr.literal;
    case ExprKind::kName:
      return Name(expr);
    case ExprKind::kList:
      return List(expr);
    case ExprKind::kDict:
      return Dict(expr);
    case ExprKind::kAttribute:
      return Attribute(expr);
    case ExprKind::kItem:
      return Item(expr);
    case ExprKind::kSlice:
      return SliceOf(expr);
    case ExprKind::kCall:
      return CallFunction(expr);
    case ExprKind::kMethod:
      return Method(expr);
    case ExprKind::kFilter:
      return expr.filter->run == nullptr ? Default(expr) : Filter(expr);
    case ExprKind::kTest:
      return Test(expr);
    case ExprKind::kUnary:
    case ExprKind::kBinary:
      return Binary(expr);
    case ExprKind::kConcat:
      return Concat(expr);
    case ExprKind::kCompare:
      return Comparison(expr);
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kNot:
      return Logical(expr);
    case ExprKind::kConditional:
      return Conditional(expr);
    case ExprKind::kBlock:
      return block_;
  }
  return absl::InternalError("an expression of no kind");
}

absl::Status Evaluator::ErrorAt(Place place, const absl::Status& status) const {
  const bool limit =
      status.code() == absl::StatusCode::kResourceExhausted && !budget_.status().ok();
  return source().Error(place, status.message(),
                        limit ? absl::StatusCode::kInvalidArgument : status.code());
}

absl::StatusOr<ValuePtr> Evaluator::Finish(const Expr& expr, absl::StatusOr<ValuePtr> result) {
  const bool tainted = std::exchange(context_.tainted, false);
  if (!budget_.status().ok()) return ErrorAt(expr.place, budget_.status());
  if (!result.ok()) return ErrorAt(expr.place, result.status());
  if (*result == nullptr) return MissingAt(expr, nullptr);
  if (!tainted) return result;
  ValuePtr sealed = NewValue(Seal(context_, **result));
  context_.tainted = false;
  return sealed;
}

absl::StatusOr<ValuePtr> Evaluator::Finish(const Expr& expr, absl::StatusOr<Value> result) {
  if (!result.ok()) return Finish(expr, absl::StatusOr<ValuePtr>(result.status()));
  return Finish(expr, absl::StatusOr<ValuePtr>(NewValue(*std::move(result))));
}

ValuePtr Evaluator::MissingAt(const Expr& expr, ValuePtr object) {
  undefined_ = {&expr, std::move(object)};
  return nullptr;
}

absl::Status Evaluator::UndefinedError(const Expr& expr) const {
  const Expr& at = undefined_.expr != nullptr ? *undefined_.expr : expr;
  switch (at.kind) {
    case ExprKind::kName: {
      if (scope_.FindFunction(at.name) != nullptr || FindBuiltIn(at.name) != nullptr) {
        return source().Error(
            at.place, absl::StrCat("'", at.name, "' is a function; call it: ", at.name, "(...)"));
      }
      if (at.name == "loop" && !loops_.empty()) {
        return source().Error(at.place,
                              "'loop' is not a value; use loop.index, loop.first and their like");
      }
      std::vector<std::string> known = scope_.VariableNames();
      for (const Local& local : locals_) known.push_back(*local.name);
      const std::string instead = Instead(WordKind::kVariable, at.name);
      return source().Error(at.place,
                            absl::StrCat("undefined variable '", at.name, "'",
                                         instead.empty() ? DidYouMean(at.name, known) : instead));
    }
    case ExprKind::kAttribute:
    case ExprKind::kItem: {
      if (undefined_.object == nullptr) {
        return source().Error(
            at.place, absl::StrCat("'loop.", at.name, "' has no value in this turn of the loop"));
      }
      std::vector<std::string> known;
      if (undefined_.object->is_object()) {
        for (auto entry = undefined_.object->begin(); entry != undefined_.object->end(); ++entry)
          known.push_back(entry.key());
      }
      const std::string type = TypeName(*undefined_.object);
      if (at.kind == ExprKind::kAttribute) {
        return source().Error(at.place, absl::StrCat("undefined attribute '", at.name, "' of this ",
                                                     type, DidYouMean(at.name, known)));
      }
      const Expr& index = *at.operands[1];
      std::string shown;
      if (index.kind == ExprKind::kLiteral &&
          (IsText(*index.literal) || IsNumber(*index.literal))) {
        shown = IsText(*index.literal) ? absl::StrCat(" '", PeekText(*index.literal), "'")
                                       : absl::StrCat(" ", index.literal->dump());
        if (IsText(*index.literal)) shown += DidYouMean(PeekText(*index.literal), known);
      }
      return source().Error(at.place, absl::StrCat("this ", type, " has no such item", shown));
    }
    case ExprKind::kFilter:
      return source().Error(at.place, absl::StrCat("filter '", at.name,
                                                   "' of nothing gives nothing; add default(...)"));
    case ExprKind::kConditional:
      return source().Error(at.place, "the condition is false and there is no 'else'");
    default:
      return source().Error(at.place, "undefined value");
  }
}

const ValuePtr* Evaluator::FindLocal(absl::string_view name) const {
  for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
    if (*local->name == name) return &local->value;
  }
  return nullptr;
}

absl::StatusOr<ValuePtr> Evaluator::Name(const Expr& expr) {
  if (const ValuePtr* local = FindLocal(expr.name)) return *local;
  if (expr.name == "loop" && !loops_.empty()) return MissingAt(expr, nullptr);
  if (expr.name == "loop" && included_in_loop_) {
    return source().Error(
        expr.place,
        "the 'loop' of the including template is not visible here; {% set %} what "
        "is needed of it before {% include %}");
  }
  absl::StatusOr<ValuePtr> value = scope_.Find(expr.name);
  if (!value.ok()) {
    return absl::Status(value.status().code(),
                        absl::StrCat(value.status().message(), "\n  for variable '", expr.name,
                                     "' at ", source().Describe(expr.place)));
  }
  if (*value == nullptr) return MissingAt(expr, nullptr);
  return value;
}

absl::StatusOr<ValuePtr> Evaluator::List(const Expr& expr) {
  std::vector<ValuePtr> elements;
  for (const ExprPtr& operand : expr.operands) {
    ASSIGN_OR_RETURN(ValuePtr element, Evaluate(*operand));
    elements.push_back(std::move(element));
  }
  return Finish(expr, absl::StatusOr<Value>(MakeList(context_, elements)));
}

absl::StatusOr<ValuePtr> Evaluator::Dict(const Expr& expr) {
  Value out = Value::object();
  for (size_t i = 0; i < expr.operands.size(); i += 2) {
    ASSIGN_OR_RETURN(const ValuePtr key, Evaluate(*expr.operands[i]));
    if (!key->is_string()) {
      return source().Error(
          expr.operands[i]->place,
          absl::StrCat("the keys of a dictionary are strings, not ", TypeName(*key)));
    }
    ASSIGN_OR_RETURN(const ValuePtr value, Evaluate(*expr.operands[i + 1]));
    SpendCopy(context_, *value, 1);
    budget_.Spend(out.size() / 8);
    if (!budget_.status().ok()) return ErrorAt(expr.place, budget_.status());
    out[key->get_ref<const std::string&>()] = *value;
  }
  return NewValue(std::move(out));
}

absl::StatusOr<ValuePtr> Evaluator::Attribute(const Expr& expr) {
  const Expr& operand = *expr.operands[0];
  if (operand.kind == ExprKind::kName && operand.name == "loop" && !loops_.empty() &&
      FindLocal("loop") == nullptr) {
    return LoopAttribute(expr);
  }
  ASSIGN_OR_RETURN(const ValuePtr object, Evaluate(operand));
  ValuePtr found = FindKey(context_, object, expr.name);
  return found != nullptr ? found : MissingAt(expr, object);
}

absl::StatusOr<ValuePtr> Evaluator::LoopAttribute(const Expr& expr) {
  const Loop& loop = *loops_.back();
  const size_t size = loop.items.size();
  const std::string& name = expr.name;
  if (name == "index") return LoopIndex(loop.index + 1);
  if (name == "index0") return LoopIndex(loop.index);
  if (name == "revindex") return LoopIndex(size - loop.index);
  if (name == "revindex0") return LoopIndex(size - loop.index - 1);
  if (name == "first") return NewValue(loop.index == 0);
  if (name == "last") return NewValue(loop.index + 1 == size);
  if (name == "length") return LoopIndex(size);
  if (name == "depth") return LoopIndex(1);
  if (name == "depth0") return LoopIndex(0);
  if (name == "previtem")
    return loop.index > 0 ? loop.items[loop.index - 1] : MissingAt(expr, nullptr);
  if (name == "nextitem")
    return loop.index + 1 < size ? loop.items[loop.index + 1] : MissingAt(expr, nullptr);
  return source().Error(
      expr.place,
      absl::StrCat("'loop' has no '", name, "' in Muster's subset of Jinja2",
                   DidYouMean(name, {std::begin(kLoopAttributes), std::end(kLoopAttributes)})));
}

absl::StatusOr<ValuePtr> Evaluator::Item(const Expr& expr) {
  ASSIGN_OR_RETURN(const ValuePtr object, Evaluate(*expr.operands[0]));
  ASSIGN_OR_RETURN(const ValuePtr index, Evaluate(*expr.operands[1]));
  ValuePtr found = FindItem(context_, object, *index);
  if (found == nullptr) {
    context_.tainted = false;
    return MissingAt(expr, object);
  }
  return Finish(expr, absl::StatusOr<ValuePtr>(std::move(found)));
}

absl::StatusOr<ValuePtr> Evaluator::SliceOf(const Expr& expr) {
  ASSIGN_OR_RETURN(const ValuePtr object, Evaluate(*expr.operands[0]));
  ValuePtr bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (expr.operands[i + 1] == nullptr) continue;
    ASSIGN_OR_RETURN(bounds[i], Evaluate(*expr.operands[i + 1]));
  }
  return Finish(expr, Slice(context_, object, bounds[0].get(), bounds[1].get(), bounds[2].get()));
}

absl::StatusOr<GivenArguments> Evaluator::Arguments(const Expr& expr) {
  GivenArguments out;
  for (const Argument& argument : expr.arguments) {
    ASSIGN_OR_RETURN(ValuePtr value, Evaluate(*argument.value));
    if (argument.name.empty()) {
      out.positional.push_back(std::move(value));
    } else {
      out.named.emplace_back(argument.name, std::move(value));
    }
  }
  return out;
}

absl::StatusOr<ValuePtr> Evaluator::CallFunction(const Expr& expr) {
  const Scope::Function* function = scope_.FindFunction(expr.name);
  const BuiltIn built_in = FindBuiltIn(expr.name);
  if (function == nullptr && built_in == nullptr) {
    std::vector<std::string> known = scope_.FunctionNames();
    for (std::string& name : BuiltInNames()) known.push_back(std::move(name));
    return source().Error(expr.place, UnknownWord(WordKind::kFunction, expr.name, known));
  }
  ASSIGN_OR_RETURN(const GivenArguments given, Arguments(expr));
  if (function == nullptr) return Finish(expr, built_in(context_, given));
  std::vector<Value> positional;
  Value named = Value::object();
  for (const ValuePtr& value : given.positional) SpendCopy(context_, *value);
  for (const auto& [name, value] : given.named) SpendCopy(context_, *value);
  if (!budget_.status().ok()) return ErrorAt(expr.place, budget_.status());
  for (const ValuePtr& value : given.positional) positional.push_back(*value);
  for (const auto& [name, value] : given.named) named[name] = *value;
  return Finish(expr, (*function)(positional, named));
}

absl::StatusOr<ValuePtr> Evaluator::Method(const Expr& expr) {
  ASSIGN_OR_RETURN(ValuePtr object, Evaluate(*expr.operands[0]));
  ASSIGN_OR_RETURN(GivenArguments given, Arguments(expr));
  return Finish(expr, RunMethod(expr.name, context_, std::move(object), std::move(given)));
}

absl::StatusOr<ValuePtr> Evaluator::Filter(const Expr& expr) {
  ASSIGN_OR_RETURN(ValuePtr input, Evaluate(*expr.operands[0]));
  ASSIGN_OR_RETURN(GivenArguments given, Arguments(expr));
  return Finish(expr, RunFilter(*expr.filter, context_, std::move(input), std::move(given)));
}

// default(value, boolean=false): the only filter that takes undefined values; its first argument is
// evaluated only when it is needed.
absl::StatusOr<ValuePtr> Evaluator::Default(const Expr& expr) {
  const Expr* otherwise = nullptr;
  bool falsy_too = false;
  for (size_t i = 0; i < expr.arguments.size(); ++i) {
    const Argument& argument = expr.arguments[i];
    if (i > 1 || (!argument.name.empty() && argument.name != "default_value" &&
                  argument.name != "boolean")) {
      return source().Error(expr.place, "filter 'default' takes default_value and boolean");
    }
    if (argument.name == "boolean" || (argument.name.empty() && i == 1)) {
      ASSIGN_OR_RETURN(const ValuePtr flag, Evaluate(*argument.value));
      falsy_too = Truth(*flag);
    } else {
      otherwise = argument.value.get();
    }
  }
  ASSIGN_OR_RETURN(ValuePtr input, EvaluateLoosely(*expr.operands[0]));
  if (input != nullptr && (!falsy_too || Truth(*input))) return input;
  if (otherwise == nullptr) return NewValue("");
  return EvaluateLoosely(*otherwise);
}

absl::StatusOr<ValuePtr> Evaluator::Test(const Expr& expr) {
  const bool takes_undefined = expr.name == "defined" || expr.name == "undefined";
  ASSIGN_OR_RETURN(ValuePtr input, takes_undefined ? EvaluateLoosely(*expr.operands[0])
                                                   : Evaluate(*expr.operands[0]));
  ASSIGN_OR_RETURN(GivenArguments given, Arguments(expr));
  const absl::StatusOr<bool> holds =
      RunTest(*expr.test, context_, std::move(input), std::move(given));
  if (!holds.ok()) return Finish(expr, absl::StatusOr<Value>(holds.status()));
  return Finish(expr, absl::StatusOr<Value>(Value(*holds)));
}

absl::StatusOr<ValuePtr> Evaluator::Binary(const Expr& expr) {
  ASSIGN_OR_RETURN(const ValuePtr left, Evaluate(*expr.operands[0]));
  if (expr.kind == ExprKind::kUnary) return Finish(expr, Sign(expr.ops[0], *left));
  ASSIGN_OR_RETURN(const ValuePtr right, Evaluate(*expr.operands[1]));
  return Finish(expr, Arithmetic(context_, expr.ops[0], *left, *right));
}

absl::StatusOr<ValuePtr> Evaluator::Concat(const Expr& expr) {
  std::vector<ValuePtr> parts;
  for (const ExprPtr& operand : expr.operands) {
    ASSIGN_OR_RETURN(ValuePtr part, Evaluate(*operand));
    parts.push_back(std::move(part));
  }
  std::string text;
  for (const ValuePtr& part : parts) {
    AppendText(context_, *part, &text);
    if (!budget_.SpendText(text.size())) break;
  }
  return Finish(expr, absl::StatusOr<Value>(Value(std::move(text))));
}

absl::StatusOr<ValuePtr> Evaluator::Comparison(const Expr& expr) {
  ASSIGN_OR_RETURN(ValuePtr left, Evaluate(*expr.operands[0]));
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    ASSIGN_OR_RETURN(ValuePtr right, Evaluate(*expr.operands[i + 1]));
    const Op op = expr.ops[i];
    bool holds = false;
    if (op == Op::kEqual || op == Op::kNotEqual) {
      holds = Equal(context_, *left, *right) == (op == Op::kEqual);
    } else if (op == Op::kIn || op == Op::kNotIn) {
      const absl::StatusOr<bool> contains = Contains(context_, *right, *left);
      if (!contains.ok()) return ErrorAt(expr.place, contains.status());
      holds = *contains == (op == Op::kIn);
    } else {
      const absl::StatusOr<int> order = Compare(context_, *left, *right);
      if (!order.ok()) return ErrorAt(expr.place, order.status());
      holds = op == Op::kLess        ? *order < 0
              : op == Op::kLessEqual ? *order <= 0
              : op == Op::kGreater   ? *order > 0
                                     : *order >= 0;
    }
    if (!budget_.status().ok()) return ErrorAt(expr.place, budget_.status());
    if (!holds) return NewValue(false);
    left = std::move(right);
  }
  return NewValue(true);
}

absl::StatusOr<ValuePtr> Evaluator::Logical(const Expr& expr) {
  if (expr.kind == ExprKind::kNot) {
    ASSIGN_OR_RETURN(const ValuePtr value, Evaluate(*expr.operands[0]));
    return NewValue(!Truth(*value));
  }
  const bool stops_at = expr.kind == ExprKind::kOr;
  for (size_t i = 0; i + 1 < expr.operands.size(); ++i) {
    ASSIGN_OR_RETURN(ValuePtr value, Evaluate(*expr.operands[i]));
    if (Truth(*value) == stops_at) return value;
  }
  return EvaluateLoosely(*expr.operands.back());
}

absl::StatusOr<ValuePtr> Evaluator::Conditional(const Expr& expr) {
  ASSIGN_OR_RETURN(const ValuePtr condition, Evaluate(*expr.operands[0]));
  if (Truth(*condition)) return EvaluateLoosely(*expr.operands[1]);
  if (expr.operands[2] == nullptr) return MissingAt(expr, nullptr);
  return EvaluateLoosely(*expr.operands[2]);
}

}  // namespace muster::tmpl
