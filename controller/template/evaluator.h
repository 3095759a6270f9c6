// Walks the tree of a template and prints it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/template/call.h"
#include "controller/template/syntax/ast.h"

namespace muster::tmpl {

// One rendering of one template. Not thread-safe; make one for each rendering.
class Evaluator {
 public:
  Evaluator(const internal::ParsedTemplate& parsed, const Scope& scope, const Limits& limits)
      : parsed_(&parsed),
        scope_(scope),
        budget_(limits, scope.allowance(), parsed.source.file()),
        context_{budget_} {}

  // Prints `body` onto the output.
  absl::Status Run(const Body& body);
  // The value of `expr`, never null: undefined is an error.
  absl::StatusOr<ValuePtr> Evaluate(const Expr& expr);
  // The same with nothing in it folded, for use outside templates.
  absl::StatusOr<Value> EvaluateWhole(const Expr& expr);

  Rendered TakeOutput() { return std::move(output_); }

 private:
  struct Local {
    const std::string* name;
    ValuePtr value;
  };
  struct Loop {
    std::vector<ValuePtr> items;
    size_t index = 0;
  };
  // The origin of the last null; reported only when it matters.
  struct Undefined {
    const Expr* expr = nullptr;
    ValuePtr object;  // whose attribute or item is missing
  };

  // Statements (evaluator.cc).
  absl::Status Print(const Node& node);
  absl::Status RunIf(const Node& node);
  absl::Status RunFor(const Node& node);
  absl::Status RunSet(const Node& node);
  absl::Status RunSetBlock(const Node& node);
  absl::Status RunInclude(const Node& node);
  absl::Status Bind(const Node& node, ValuePtr value, bool reuse);
  absl::StatusOr<std::vector<ValuePtr>> LoopItems(const Node& node);

  // Expressions (evaluator_expressions.cc). May return null, for undefined.
  absl::StatusOr<ValuePtr> EvaluateLoosely(const Expr& expr);
  absl::StatusOr<ValuePtr> Name(const Expr& expr);
  absl::StatusOr<ValuePtr> List(const Expr& expr);
  absl::StatusOr<ValuePtr> Dict(const Expr& expr);
  absl::StatusOr<ValuePtr> Attribute(const Expr& expr);
  absl::StatusOr<ValuePtr> LoopAttribute(const Expr& expr);
  absl::StatusOr<ValuePtr> Item(const Expr& expr);
  absl::StatusOr<ValuePtr> SliceOf(const Expr& expr);
  absl::StatusOr<ValuePtr> CallFunction(const Expr& expr);
  absl::StatusOr<ValuePtr> Method(const Expr& expr);
  absl::StatusOr<ValuePtr> Filter(const Expr& expr);
  absl::StatusOr<ValuePtr> Default(const Expr& expr);
  absl::StatusOr<ValuePtr> Test(const Expr& expr);
  absl::StatusOr<ValuePtr> Binary(const Expr& expr);
  absl::StatusOr<ValuePtr> Concat(const Expr& expr);
  absl::StatusOr<ValuePtr> Comparison(const Expr& expr);
  absl::StatusOr<ValuePtr> Logical(const Expr& expr);
  absl::StatusOr<ValuePtr> Conditional(const Expr& expr);
  absl::StatusOr<GivenArguments> Arguments(const Expr& expr);

  const ValuePtr* FindLocal(absl::string_view name) const;
  ValuePtr MissingAt(const Expr& expr, ValuePtr object);
  // The error for the last null, which came from `expr`.
  absl::Status UndefinedError(const Expr& expr) const;
  absl::Status ErrorAt(Place place, const absl::Status& status) const;
  // Finishes an operation: adds the place to its error, and makes its result a secret if it read
  // one.
  absl::StatusOr<ValuePtr> Finish(const Expr& expr, absl::StatusOr<ValuePtr> result);
  absl::StatusOr<ValuePtr> Finish(const Expr& expr, absl::StatusOr<Value> result);

  const Source& source() const { return parsed_->source; }

  const internal::ParsedTemplate* parsed_;  // the template itself, or the one being included
  const Scope& scope_;
  Budget budget_;
  Context context_;
  Rendered output_;
  std::vector<Local> locals_;
  std::vector<Loop*> loops_;  // of *parsed_
  bool included_in_loop_ = false;
  ValuePtr block_;  // the text of the set block whose filters are evaluated
  Undefined undefined_;
};

}  // namespace muster::tmpl
