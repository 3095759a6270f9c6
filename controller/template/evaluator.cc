#include "controller/template/evaluator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/value/secret_value.h"

namespace muster::tmpl {

absl::Status Evaluator::Run(const Body& body) {
  for (const auto& node : body) {
    if (!budget_.Spend(1)) return ErrorAt(node->place, budget_.status());
    switch (node->kind) {
      case NodeKind::kText:
        output_.text += node->text;
        if (output_.text.size() > budget_.limits().max_output) {
          budget_.SpendText(output_.text.size());
          return ErrorAt(node->place, budget_.status());
        }
        break;
      case NodeKind::kOutput:
        RETURN_IF_ERROR(Print(*node));
        break;
      case NodeKind::kIf:
        RETURN_IF_ERROR(RunIf(*node));
        break;
      case NodeKind::kFor:
        RETURN_IF_ERROR(RunFor(*node));
        break;
      case NodeKind::kSet:
        RETURN_IF_ERROR(RunSet(*node));
        break;
      case NodeKind::kInclude:
        RETURN_IF_ERROR(RunInclude(*node));
        break;
    }
  }
  return absl::OkStatus();
}

absl::Status Evaluator::Print(const Node& node) {
  ASSIGN_OR_RETURN(const ValuePtr value, Evaluate(*node.expr));
  if (value->is_binary() && !IsSecret(*value)) {
    return source().Error(node.place, "a binary value cannot be printed");
  }
  AppendText(context_, *value, &output_.text);
  if (context_.tainted) output_.sensitive = true;
  context_.tainted = false;
  if (output_.text.size() > budget_.limits().max_output) budget_.SpendText(output_.text.size());
  if (!budget_.status().ok()) return ErrorAt(node.place, budget_.status());
  return absl::OkStatus();
}

absl::Status Evaluator::RunIf(const Node& node) {
  for (const Branch& branch : node.branches) {
    if (branch.condition != nullptr) {
      ASSIGN_OR_RETURN(const ValuePtr value, Evaluate(*branch.condition));
      if (!Truth(*value)) continue;
    }
    return Run(branch.body);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ValuePtr>> Evaluator::LoopItems(const Node& node) {
  ASSIGN_OR_RETURN(const ValuePtr value, Evaluate(*node.expr));
  absl::StatusOr<std::vector<ValuePtr>> items = Elements(context_, value);
  if (!items.ok()) return ErrorAt(node.expr->place, items.status());
  if (node.condition == nullptr) return items;
  std::vector<ValuePtr> kept;
  for (ValuePtr& item : *items) {
    const size_t mark = locals_.size();
    RETURN_IF_ERROR(Bind(node, item, /*reuse=*/false));
    ASSIGN_OR_RETURN(const ValuePtr wanted, Evaluate(*node.condition));
    locals_.resize(mark);
    if (Truth(*wanted)) kept.push_back(std::move(item));
  }
  return kept;
}

absl::Status Evaluator::RunFor(const Node& node) {
  Loop loop;
  ASSIGN_OR_RETURN(loop.items, LoopItems(node));
  if (loop.items.empty())
    return node.branches.size() > 1 ? Run(node.branches[1].body) : absl::OkStatus();
  const size_t mark = locals_.size();
  loops_.push_back(&loop);
  absl::Status status;
  for (; loop.index < loop.items.size() && status.ok(); ++loop.index) {
    if (!budget_.Spend(1)) return ErrorAt(node.place, budget_.status());
    status = Bind(node, loop.items[loop.index], /*reuse=*/false);
    if (status.ok()) status = Run(node.branches[0].body);
    locals_.resize(mark);  // forget the variables that the body set
  }
  loops_.pop_back();
  return status;
}

absl::Status Evaluator::RunSet(const Node& node) {
  if (!node.branches.empty()) return RunSetBlock(node);
  ASSIGN_OR_RETURN(ValuePtr value, Evaluate(*node.expr));
  return Bind(node, std::move(value), /*reuse=*/true);
}

// {% set x | filter %}…{% endset %}: the block's output, filtered if asked, becomes the value. It
// is a secret if it contains one.
absl::Status Evaluator::RunSetBlock(const Node& node) {
  Rendered outer = std::exchange(output_, {});
  const size_t mark = locals_.size();
  const absl::Status status = Run(node.branches[0].body);
  locals_.resize(mark);  // forget the variables that the block set
  Rendered block = std::exchange(output_, std::move(outer));
  RETURN_IF_ERROR(status);
  if (!budget_.SpendText(block.text.size())) return ErrorAt(node.place, budget_.status());
  Value value = block.sensitive ? MakeSecret(std::move(block.text)) : Value(std::move(block.text));
  ValuePtr set = NewValue(std::move(value));
  if (node.expr != nullptr) {
    block_ = std::move(set);
    ASSIGN_OR_RETURN(set, Evaluate(*node.expr));
  }
  return Bind(node, std::move(set), /*reuse=*/true);
}

// An included template sees the variables that are set here, and sets its own.
absl::Status Evaluator::RunInclude(const Node& node) {
  const internal::ParsedTemplate* const outer = parsed_;
  parsed_ = outer->includes[node.include].parsed.get();
  const size_t mark = locals_.size();
  std::vector<Loop*> outer_loops = std::exchange(loops_, {});
  const bool outer_in_loop = included_in_loop_;
  included_in_loop_ = outer_in_loop || !outer_loops.empty();
  const absl::Status status = Run(parsed_->body);
  included_in_loop_ = outer_in_loop;
  loops_ = std::move(outer_loops);
  locals_.resize(mark);
  parsed_ = outer;
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), "\n  included at ",
                                                  source().Describe(node.place)));
}

// Sets the targets of a for or a set. `reuse`: a name that was set before gets the new value, so
// that a template cannot pile up locals.
absl::Status Evaluator::Bind(const Node& node, ValuePtr value, bool reuse) {
  std::vector<ValuePtr> parts = {value};
  if (node.targets.size() > 1) {
    absl::StatusOr<std::vector<ValuePtr>> elements = Elements(context_, value);
    if (!elements.ok()) return ErrorAt(node.place, elements.status());
    if (elements->size() != node.targets.size()) {
      return source().Error(node.place, absl::StrCat(elements->size(), " values for ",
                                                     node.targets.size(), " names"));
    }
    parts = *std::move(elements);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    Local* last = locals_.empty() ? nullptr : &locals_.back();
    if (reuse && last != nullptr && last->name == &node.targets[i]) {
      last->value = parts[i];
    } else {
      locals_.push_back({&node.targets[i], parts[i]});
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::tmpl
