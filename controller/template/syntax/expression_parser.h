// Parses expressions with the precedence of Jinja2.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/template/syntax/ast.h"
#include "controller/template/syntax/lexer.h"

namespace muster::tmpl {

// Words that cannot be variable names.
bool IsReserved(const Token& token);
std::unique_ptr<Expr> NewExpr(ExprKind kind, Place place, absl::string_view name = "");

// A cursor over tokens that knows the grammar of expressions. The statement parser drives it.
class ExpressionParser {
 public:
  ExpressionParser(const Source& source, const std::vector<Token>& tokens, int max_depth)
      : source_(source), tokens_(tokens), max_depth_(max_depth) {}

  // A whole expression, including "a if b else c".
  absl::StatusOr<ExprPtr> Expression();
  // Excludes the inline if, as in "for x in …".
  absl::StatusOr<ExprPtr> OrExpression();
  // "a, b" makes a list; a single expression stays as it is.
  absl::StatusOr<ExprPtr> ExpressionList(bool with_conditional);
  // "| upper | trim" of a set block: filters of ExprKind::kBlock.
  absl::StatusOr<ExprPtr> BlockFilters();

  const Token& Peek(size_t ahead = 0) const;
  const Token& Next();
  bool SkipName(absl::string_view name);
  bool SkipOperator(absl::string_view op);
  bool AtOperator(absl::string_view op) const { return Peek().Is(TokenKind::kOperator, op); }
  absl::Status ExpectOperator(absl::string_view op);
  absl::StatusOr<Token> ExpectName();
  absl::Status Error(Place place, absl::string_view message) const {
    return source_.Error(place, message);
  }
  absl::Status Unexpected(absl::string_view wanted) const;

  // Enters one more level of nesting until Leave(); an error when it is one too many.
  absl::Status Enter(Place place);
  void Leave() { --nesting_; }

  // All names read or called so far.
  const std::set<std::string>& names() const { return names_; }

 private:
  using Parse = absl::StatusOr<ExprPtr> (ExpressionParser::*)();

  absl::StatusOr<ExprPtr> Conditional();
  absl::StatusOr<ExprPtr> And();
  absl::StatusOr<ExprPtr> Not();
  absl::StatusOr<ExprPtr> Comparison();
  absl::StatusOr<ExprPtr> Sum();
  absl::StatusOr<ExprPtr> Concat();
  absl::StatusOr<ExprPtr> Product();
  absl::StatusOr<ExprPtr> Power();
  absl::StatusOr<ExprPtr> Unary() { return Signed(/*with_filters=*/true); }
  absl::StatusOr<ExprPtr> Signed(bool with_filters);
  absl::StatusOr<ExprPtr> Primary();
  absl::StatusOr<ExprPtr> Literal();
  absl::StatusOr<ExprPtr> Name();
  absl::StatusOr<ExprPtr> Parenthesis();
  absl::StatusOr<ExprPtr> List();
  absl::StatusOr<ExprPtr> Dict();
  absl::StatusOr<ExprPtr> Postfix(ExprPtr expr, bool calls_allowed);
  absl::StatusOr<ExprPtr> Subscript(ExprPtr object);
  absl::StatusOr<ExprPtr> FiltersAndTests(ExprPtr expr);
  // Appends ".b.c" to the name `*token`, and removes the prefix of Ansible's own filters and tests.
  absl::Status FinishName(Token* token);
  absl::StatusOr<ExprPtr> Filter(ExprPtr input);
  absl::StatusOr<ExprPtr> Test(ExprPtr subject);
  absl::StatusOr<std::vector<Argument>> Arguments();
  // next (op next)*, grouped from the left.
  struct BinaryOperator {
    absl::string_view sign;
    Op op;
  };
  template <size_t kCount>
  absl::StatusOr<ExprPtr> LeftAssociative(Parse next, const BinaryOperator (&operators)[kCount]);
  // Limits the depth of the tree.
  absl::StatusOr<ExprPtr> Finish(std::unique_ptr<Expr> expr);

  const Source& source_;
  const std::vector<Token>& tokens_;
  const int max_depth_;
  size_t at_ = 0;
  int nesting_ = 0;
  std::set<std::string> names_;
};

}  // namespace muster::tmpl
