// ExpressionParser: the operands of operators, with everything that follows them: calls, items,
// filters, tests.
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "controller/template/call.h"
#include "controller/template/instead.h"
#include "controller/template/syntax/expression_parser.h"

namespace muster::tmpl {
namespace {

struct NamedLiteral {
  absl::string_view name;
  Value (*make)();
};
constexpr NamedLiteral kNamedLiterals[] = {
    {"true", [] { return Value(true); }},    {"True", [] { return Value(true); }},
    {"false", [] { return Value(false); }},  {"False", [] { return Value(false); }},
    {"none", [] { return Value(nullptr); }}, {"None", [] { return Value(nullptr); }},
};

}  // namespace

absl::StatusOr<ExprPtr> ExpressionParser::Primary() {
  switch (Peek().kind) {
    case TokenKind::kName:
      return Name();
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return Literal();
    default:
      break;
  }
  if (AtOperator("(")) return Parenthesis();
  if (AtOperator("[")) return List();
  if (AtOperator("{")) return Dict();
  return Unexpected("an expression");
}

absl::StatusOr<ExprPtr> ExpressionParser::Literal() {
  const Token& token = Next();
  auto expr = NewExpr(ExprKind::kLiteral, token.place);
  if (token.kind == TokenKind::kInteger) {
    expr->literal = NewValue(token.integer);
  } else if (token.kind == TokenKind::kFloat) {
    expr->literal = NewValue(token.number);
  } else {
    // Adjacent strings are joined, as in Python.
    std::string text = token.text;
    while (Peek().kind == TokenKind::kString) text += Next().text;
    expr->literal = NewValue(std::move(text));
  }
  return Finish(std::move(expr));
}

absl::StatusOr<ExprPtr> ExpressionParser::Name() {
  if (IsReserved(Peek())) return Unexpected("an expression");
  const Token& token = Next();
  for (const NamedLiteral& literal : kNamedLiterals) {
    if (literal.name != token.text) continue;
    auto expr = NewExpr(ExprKind::kLiteral, token.place);
    expr->literal = NewValue(literal.make());
    return Finish(std::move(expr));
  }
  names_.insert(token.text);
  return Finish(NewExpr(ExprKind::kName, token.place, token.text));
}

absl::StatusOr<ExprPtr> ExpressionParser::Parenthesis() {
  const Place place = Next().place;
  if (SkipOperator(")")) return Finish(NewExpr(ExprKind::kList, place));
  RETURN_IF_ERROR(Enter(place));
  ASSIGN_OR_RETURN(ExprPtr expr, ExpressionList(/*with_conditional=*/true));
  Leave();
  RETURN_IF_ERROR(ExpectOperator(")"));
  return expr;
}

absl::StatusOr<ExprPtr> ExpressionParser::List() {
  auto list = NewExpr(ExprKind::kList, Next().place);
  while (!AtOperator("]")) {
    if (!list->operands.empty()) {
      RETURN_IF_ERROR(ExpectOperator(","));
      if (AtOperator("]")) break;
    }
    ASSIGN_OR_RETURN(ExprPtr element, Expression());
    list->operands.push_back(std::move(element));
  }
  Next();
  return Finish(std::move(list));
}

absl::StatusOr<ExprPtr> ExpressionParser::Dict() {
  auto dict = NewExpr(ExprKind::kDict, Next().place);
  while (!AtOperator("}")) {
    if (!dict->operands.empty()) {
      RETURN_IF_ERROR(ExpectOperator(","));
      if (AtOperator("}")) break;
    }
    ASSIGN_OR_RETURN(ExprPtr key, Expression());
    RETURN_IF_ERROR(ExpectOperator(":"));
    ASSIGN_OR_RETURN(ExprPtr value, Expression());
    dict->operands.push_back(std::move(key));
    dict->operands.push_back(std::move(value));
  }
  Next();
  return Finish(std::move(dict));
}

absl::StatusOr<ExprPtr> ExpressionParser::Postfix(ExprPtr expr, bool calls_allowed) {
  while (true) {
    if (SkipOperator(".")) {
      const Token& token = Next();
      if (token.kind == TokenKind::kInteger) {
        auto item = NewExpr(ExprKind::kItem, token.place);
        auto index = NewExpr(ExprKind::kLiteral, token.place);
        index->literal = NewValue(token.integer);
        item->operands.push_back(std::move(expr));
        item->operands.push_back(std::move(index));
        ASSIGN_OR_RETURN(expr, Finish(std::move(item)));
        continue;
      }
      if (token.kind != TokenKind::kName) {
        return Error(token.place, "expected a name or a number after '.'");
      }
      auto attribute = NewExpr(ExprKind::kAttribute, token.place, token.text);
      attribute->operands.push_back(std::move(expr));
      if (AtOperator("(")) {
        attribute->kind = ExprKind::kMethod;
        ASSIGN_OR_RETURN(attribute->arguments, Arguments());
      }
      ASSIGN_OR_RETURN(expr, Finish(std::move(attribute)));
    } else if (AtOperator("[")) {
      ASSIGN_OR_RETURN(expr, Subscript(std::move(expr)));
    } else if (AtOperator("(") && calls_allowed) {
      if (expr->kind != ExprKind::kName) {
        return Error(Peek().place, "only functions and methods can be called");
      }
      auto call = NewExpr(ExprKind::kCall, expr->place, expr->name);
      ASSIGN_OR_RETURN(call->arguments, Arguments());
      ASSIGN_OR_RETURN(expr, Finish(std::move(call)));
    } else {
      return expr;
    }
  }
}

absl::StatusOr<ExprPtr> ExpressionParser::Subscript(ExprPtr object) {
  const Place place = Next().place;
  ExprPtr parts[3];
  int colons = 0;
  while (!AtOperator("]")) {
    if (SkipOperator(":")) {
      if (++colons > 2) return Error(Peek().place, "a slice has at most two ':'");
      continue;
    }
    if (parts[colons] != nullptr) return Unexpected("']'");
    ASSIGN_OR_RETURN(parts[colons], Expression());
  }
  Next();
  if (colons == 0 && parts[0] == nullptr)
    return Error(place, "expected an index between '[' and ']'");
  auto expr = NewExpr(colons == 0 ? ExprKind::kItem : ExprKind::kSlice, place);
  expr->operands.push_back(std::move(object));
  for (int i = 0; i < (colons == 0 ? 1 : 3); ++i) expr->operands.push_back(std::move(parts[i]));
  return Finish(std::move(expr));
}

absl::StatusOr<ExprPtr> ExpressionParser::FiltersAndTests(ExprPtr expr) {
  while (true) {
    if (SkipOperator("|")) {
      ASSIGN_OR_RETURN(expr, Filter(std::move(expr)));
    } else if (SkipName("is")) {
      ASSIGN_OR_RETURN(expr, Test(std::move(expr)));
    } else {
      return expr;
    }
  }
}

absl::StatusOr<ExprPtr> ExpressionParser::BlockFilters() {
  ASSIGN_OR_RETURN(ExprPtr expr, Finish(NewExpr(ExprKind::kBlock, Peek().place)));
  while (SkipOperator("|")) {
    ASSIGN_OR_RETURN(expr, Filter(std::move(expr)));
  }
  return expr;
}

absl::Status ExpressionParser::FinishName(Token* token) {
  while (SkipOperator(".")) {
    ASSIGN_OR_RETURN(const Token next, ExpectName());
    absl::StrAppend(&token->text, ".", next.text);
  }
  token->text = std::string(absl::StripPrefix(token->text, "ansible.builtin."));
  return absl::OkStatus();
}

absl::StatusOr<ExprPtr> ExpressionParser::Filter(ExprPtr input) {
  ASSIGN_OR_RETURN(Token token, ExpectName());
  RETURN_IF_ERROR(FinishName(&token));
  auto expr = NewExpr(ExprKind::kFilter, token.place, token.text);
  expr->filter = FindFilter(token.text);
  if (expr->filter == nullptr) {
    return Error(token.place, UnknownWord(WordKind::kFilter, token.text, FilterNames()));
  }
  expr->operands.push_back(std::move(input));
  if (AtOperator("(")) {
    ASSIGN_OR_RETURN(expr->arguments, Arguments());
  }
  return Finish(std::move(expr));
}

absl::StatusOr<ExprPtr> ExpressionParser::Test(ExprPtr subject) {
  const bool negated = SkipName("not");
  // "in" is a test too, and the only reserved word among them.
  if (Peek().kind != TokenKind::kName) return Unexpected("the name of a test");
  Token token = Next();
  RETURN_IF_ERROR(FinishName(&token));
  auto expr = NewExpr(ExprKind::kTest, token.place,
                      absl::AsciiStrToLower(token.text) == "none" ? "none" : token.text);
  if (token.text == "True" || token.text == "False") expr->name = absl::AsciiStrToLower(token.text);
  expr->test = FindTest(expr->name);
  if (expr->test == nullptr) {
    return Error(token.place, UnknownWord(WordKind::kTest, token.text, TestNames()));
  }
  expr->operands.push_back(std::move(subject));
  const TokenKind kind = Peek().kind;
  if (AtOperator("(")) {
    ASSIGN_OR_RETURN(expr->arguments, Arguments());
  } else if ((kind == TokenKind::kName && !IsReserved(Peek())) || kind == TokenKind::kString ||
             kind == TokenKind::kInteger || kind == TokenKind::kFloat || AtOperator("[") ||
             AtOperator("{")) {
    RETURN_IF_ERROR(Enter(Peek().place));
    ASSIGN_OR_RETURN(ExprPtr argument, Primary());
    ASSIGN_OR_RETURN(argument, Postfix(std::move(argument), /*calls_allowed=*/true));
    Leave();
    expr->arguments.push_back({"", std::move(argument)});
  } else if (Peek().Is(TokenKind::kName, "is")) {
    return Error(Peek().place, "tests cannot be chained; join them with 'and'");
  }
  ASSIGN_OR_RETURN(ExprPtr test, Finish(std::move(expr)));
  if (!negated) return test;
  auto inverse = NewExpr(ExprKind::kNot, token.place);
  inverse->operands.push_back(std::move(test));
  return Finish(std::move(inverse));
}

absl::StatusOr<std::vector<Argument>> ExpressionParser::Arguments() {
  std::vector<Argument> out;
  Next();
  while (!AtOperator(")")) {
    if (!out.empty()) {
      RETURN_IF_ERROR(ExpectOperator(","));
      if (AtOperator(")")) break;
    }
    if (AtOperator("*") || AtOperator("**")) {
      return Error(Peek().place, "'*' and '**' arguments are outside Muster's subset of Jinja2");
    }
    Argument argument;
    const Place place = Peek().place;
    if (Peek().kind == TokenKind::kName && Peek(1).Is(TokenKind::kOperator, "=")) {
      argument.name = Next().text;
      Next();
      for (const Argument& other : out) {
        if (other.name == argument.name)
          return Error(place, absl::StrCat("argument '", argument.name, "' is given twice"));
      }
    } else if (!out.empty() && !out.back().name.empty()) {
      return Error(place, "arguments by position come before those by name");
    }
    ASSIGN_OR_RETURN(argument.value, Expression());
    out.push_back(std::move(argument));
  }
  Next();
  return out;
}

}  // namespace muster::tmpl
