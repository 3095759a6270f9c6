#include "controller/template/syntax/expression_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::tmpl {
namespace {

// Words that cannot be variable names.
constexpr absl::string_view kReserved[] = {"and", "or", "not", "in", "is", "if", "else"};
// Per level of nesting, this many levels of the tree.
constexpr int kTreeDepthPerLevel = 4;

constexpr std::pair<absl::string_view, Op> kComparisons[] = {
    {"==", Op::kEqual},     {"!=", Op::kNotEqual}, {"<", Op::kLess},
    {"<=", Op::kLessEqual}, {">", Op::kGreater},   {">=", Op::kGreaterEqual},
};

}  // namespace

bool IsReserved(const Token& token) {
  return token.kind == TokenKind::kName &&
         std::find(std::begin(kReserved), std::end(kReserved), token.text) != std::end(kReserved);
}

std::unique_ptr<Expr> NewExpr(ExprKind kind, Place place, absl::string_view name) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->place = place;
  expr->name = std::string(name);
  return expr;
}

const Token& ExpressionParser::Peek(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

const Token& ExpressionParser::Next() {
  const Token& token = Peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool ExpressionParser::SkipName(absl::string_view name) {
  if (!Peek().Is(TokenKind::kName, name)) return false;
  Next();
  return true;
}

bool ExpressionParser::SkipOperator(absl::string_view op) {
  if (!AtOperator(op)) return false;
  Next();
  return true;
}

absl::Status ExpressionParser::ExpectOperator(absl::string_view op) {
  if (SkipOperator(op)) return absl::OkStatus();
  return Unexpected(absl::StrCat("'", op, "'"));
}

absl::StatusOr<Token> ExpressionParser::ExpectName() {
  if (Peek().kind != TokenKind::kName || IsReserved(Peek())) return Unexpected("a name");
  return Next();
}

absl::Status ExpressionParser::Unexpected(absl::string_view wanted) const {
  return Error(Peek().place, absl::StrCat("expected ", wanted, ", found ", Describe(Peek())));
}

absl::Status ExpressionParser::Enter(Place place) {
  if (++nesting_ <= max_depth_) return absl::OkStatus();
  return Error(place, absl::StrCat("nested deeper than ", max_depth_, " levels"));
}

absl::StatusOr<ExprPtr> ExpressionParser::Finish(std::unique_ptr<Expr> expr) {
  for (const ExprPtr& operand : expr->operands) {
    if (operand != nullptr) expr->depth = std::max(expr->depth, operand->depth + 1);
  }
  for (const Argument& argument : expr->arguments) {
    expr->depth = std::max(expr->depth, argument.value->depth + 1);
  }
  if (expr->depth > max_depth_ * kTreeDepthPerLevel) {
    return Error(expr->place, "the expression is too long; {% set %} can hold a part of it");
  }
  return ExprPtr(std::move(expr));
}

absl::StatusOr<ExprPtr> ExpressionParser::Expression() {
  RETURN_IF_ERROR(Enter(Peek().place));
  absl::StatusOr<ExprPtr> expr = Conditional();
  Leave();
  return expr;
}

absl::StatusOr<ExprPtr> ExpressionParser::ExpressionList(bool with_conditional) {
  const Place place = Peek().place;
  const auto parse = [&] { return with_conditional ? Expression() : OrExpression(); };
  ASSIGN_OR_RETURN(ExprPtr first, parse());
  if (!AtOperator(",")) return first;
  auto list = NewExpr(ExprKind::kList, place);
  list->operands.push_back(std::move(first));
  while (SkipOperator(",")) {
    const TokenKind kind = Peek().kind;
    if (kind == TokenKind::kStatementEnd || kind == TokenKind::kOutputEnd || AtOperator(")")) break;
    ASSIGN_OR_RETURN(ExprPtr element, parse());
    list->operands.push_back(std::move(element));
  }
  return Finish(std::move(list));
}

absl::StatusOr<ExprPtr> ExpressionParser::Conditional() {
  ASSIGN_OR_RETURN(ExprPtr value, OrExpression());
  while (Peek().Is(TokenKind::kName, "if")) {
    auto expr = NewExpr(ExprKind::kConditional, Next().place);
    ASSIGN_OR_RETURN(ExprPtr condition, OrExpression());
    ExprPtr otherwise;
    if (SkipName("else")) {
      ASSIGN_OR_RETURN(otherwise, Expression());
    }
    expr->operands.push_back(std::move(condition));
    expr->operands.push_back(std::move(value));
    expr->operands.push_back(std::move(otherwise));
    ASSIGN_OR_RETURN(value, Finish(std::move(expr)));
  }
  return value;
}

absl::StatusOr<ExprPtr> ExpressionParser::OrExpression() {
  ASSIGN_OR_RETURN(ExprPtr first, And());
  if (!Peek().Is(TokenKind::kName, "or")) return first;
  auto expr = NewExpr(ExprKind::kOr, Peek().place);
  expr->operands.push_back(std::move(first));
  while (SkipName("or")) {
    ASSIGN_OR_RETURN(ExprPtr operand, And());
    expr->operands.push_back(std::move(operand));
  }
  return Finish(std::move(expr));
}

absl::StatusOr<ExprPtr> ExpressionParser::And() {
  ASSIGN_OR_RETURN(ExprPtr first, Not());
  if (!Peek().Is(TokenKind::kName, "and")) return first;
  auto expr = NewExpr(ExprKind::kAnd, Peek().place);
  expr->operands.push_back(std::move(first));
  while (SkipName("and")) {
    ASSIGN_OR_RETURN(ExprPtr operand, Not());
    expr->operands.push_back(std::move(operand));
  }
  return Finish(std::move(expr));
}

absl::StatusOr<ExprPtr> ExpressionParser::Not() {
  if (!Peek().Is(TokenKind::kName, "not")) return Comparison();
  auto expr = NewExpr(ExprKind::kNot, Next().place);
  RETURN_IF_ERROR(Enter(expr->place));
  ASSIGN_OR_RETURN(ExprPtr operand, Not());
  Leave();
  expr->operands.push_back(std::move(operand));
  return Finish(std::move(expr));
}

absl::StatusOr<ExprPtr> ExpressionParser::Comparison() {
  ASSIGN_OR_RETURN(ExprPtr first, Sum());
  std::unique_ptr<Expr> expr;
  while (true) {
    const Place place = Peek().place;
    Op op = Op::kIn;
    bool found = false;
    if (SkipName("in")) {
      found = true;
    } else if (Peek().Is(TokenKind::kName, "not") && Peek(1).Is(TokenKind::kName, "in")) {
      Next();
      Next();
      op = Op::kNotIn;
      found = true;
    } else {
      for (const auto& [sign, comparison] : kComparisons) {
        if (found || !SkipOperator(sign)) continue;
        op = comparison;
        found = true;
      }
    }
    if (!found) break;
    if (expr == nullptr) {
      expr = NewExpr(ExprKind::kCompare, place);
      expr->operands.push_back(std::move(first));
    }
    ASSIGN_OR_RETURN(ExprPtr operand, Sum());
    expr->ops.push_back(op);
    expr->operands.push_back(std::move(operand));
  }
  if (expr == nullptr) return first;
  return Finish(std::move(expr));
}

template <size_t kCount>
absl::StatusOr<ExprPtr> ExpressionParser::LeftAssociative(
    Parse next, const BinaryOperator (&operators)[kCount]) {
  ASSIGN_OR_RETURN(ExprPtr left, (this->*next)());
  while (Peek().kind == TokenKind::kOperator) {
    const auto* row = std::find_if(std::begin(operators), std::end(operators),
                                   [&](const BinaryOperator& o) { return AtOperator(o.sign); });
    if (row == std::end(operators)) break;
    auto expr = NewExpr(ExprKind::kBinary, Next().place);
    expr->ops.push_back(row->op);
    ASSIGN_OR_RETURN(ExprPtr right, (this->*next)());
    expr->operands.push_back(std::move(left));
    expr->operands.push_back(std::move(right));
    ASSIGN_OR_RETURN(left, Finish(std::move(expr)));
  }
  return left;
}

absl::StatusOr<ExprPtr> ExpressionParser::Sum() {
  static constexpr BinaryOperator kOperators[] = {{"+", Op::kAdd}, {"-", Op::kSubtract}};
  return LeftAssociative(&ExpressionParser::Concat, kOperators);
}

absl::StatusOr<ExprPtr> ExpressionParser::Concat() {
  ASSIGN_OR_RETURN(ExprPtr first, Product());
  if (!AtOperator("~")) return first;
  auto expr = NewExpr(ExprKind::kConcat, Peek().place);
  expr->operands.push_back(std::move(first));
  while (SkipOperator("~")) {
    ASSIGN_OR_RETURN(ExprPtr operand, Product());
    expr->operands.push_back(std::move(operand));
  }
  return Finish(std::move(expr));
}

absl::StatusOr<ExprPtr> ExpressionParser::Product() {
  static constexpr BinaryOperator kOperators[] = {
      {"*", Op::kMultiply}, {"/", Op::kDivide}, {"//", Op::kFloorDivide}, {"%", Op::kModulo}};
  return LeftAssociative(&ExpressionParser::Power, kOperators);
}

absl::StatusOr<ExprPtr> ExpressionParser::Power() {
  static constexpr BinaryOperator kOperators[] = {{"**", Op::kPower}};
  return LeftAssociative(&ExpressionParser::Unary, kOperators);
}

absl::StatusOr<ExprPtr> ExpressionParser::Signed(bool with_filters) {
  ExprPtr expr;
  if (AtOperator("-") || AtOperator("+")) {
    const Op op = AtOperator("-") ? Op::kNegate : Op::kPlus;
    auto sign = NewExpr(ExprKind::kUnary, Next().place);
    RETURN_IF_ERROR(Enter(sign->place));
    ASSIGN_OR_RETURN(ExprPtr operand, Signed(/*with_filters=*/false));
    Leave();
    sign->ops.push_back(op);
    sign->operands.push_back(std::move(operand));
    ASSIGN_OR_RETURN(expr, Finish(std::move(sign)));
  } else {
    ASSIGN_OR_RETURN(expr, Primary());
    ASSIGN_OR_RETURN(expr, Postfix(std::move(expr), /*calls_allowed=*/true));
  }
  if (!with_filters) return expr;
  return FiltersAndTests(std::move(expr));
}

}  // namespace muster::tmpl
