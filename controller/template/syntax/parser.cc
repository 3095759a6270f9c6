#include "controller/template/syntax/parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "controller/template/instead.h"
#include "controller/template/syntax/expression_parser.h"

namespace muster::tmpl {
namespace {

// A target with such a name would hide what the loop provides.
constexpr absl::string_view kNoTargets[] = {"loop", "true",  "false", "none",
                                            "True", "False", "None"};

class Parser {
 public:
  Parser(const Source& source, const std::vector<Token>& tokens, int max_depth)
      : expressions_(source, tokens, max_depth) {}

  absl::StatusOr<Body> Template() {
    Token end;
    return Statements({}, &end);
  }

  absl::StatusOr<ExprPtr> BareExpression() {
    ASSIGN_OR_RETURN(ExprPtr expr, expressions_.Expression());
    if (Peek().kind != TokenKind::kEnd) return expressions_.Unexpected("the end of the expression");
    return expr;
  }

  std::vector<internal::Include> TakeIncludes() { return std::move(includes_); }

  std::vector<std::string> names() const {
    return std::vector<std::string>(expressions_.names().begin(), expressions_.names().end());
  }

 private:
  using Words = std::vector<absl::string_view>;

  const Token& Peek() const { return expressions_.Peek(); }
  const Token& Next() { return expressions_.Next(); }

  // Reads until one of `ends` is the keyword of a statement, which becomes `*end`; without `ends`,
  // until the template's end.
  absl::StatusOr<Body> Statements(const Words& ends, Token* end) {
    Body body;
    while (true) {
      const Token& token = Peek();
      if (token.kind == TokenKind::kEnd) {
        if (ends.empty()) return body;
        return expressions_.Error(
            open_.back().second,
            absl::StrCat("{% ", open_.back().first, " %} has no {% ", ends.back(), " %}"));
      }
      if (token.kind == TokenKind::kText) {
        auto node = NewNode(NodeKind::kText);
        node->text = Next().text;
        body.push_back(std::move(node));
      } else if (token.kind == TokenKind::kOutputBegin) {
        ASSIGN_OR_RETURN(auto node, Output());
        body.push_back(std::move(node));
      } else {
        Next();
        if (Peek().kind == TokenKind::kName &&
            std::find(ends.begin(), ends.end(), Peek().text) != ends.end()) {
          *end = Next();
          return body;
        }
        ASSIGN_OR_RETURN(auto node, Statement());
        body.push_back(std::move(node));
      }
    }
  }

  std::unique_ptr<Node> NewNode(NodeKind kind) const {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->place = Peek().place;
    return node;
  }

  absl::Status ExpectEnd(TokenKind kind, absl::string_view text) {
    if (Peek().kind != kind) return expressions_.Unexpected(absl::StrCat("'", text, "'"));
    Next();
    return absl::OkStatus();
  }
  absl::Status ExpectStatementEnd() { return ExpectEnd(TokenKind::kStatementEnd, "%}"); }

  absl::StatusOr<std::unique_ptr<Node>> Output() {
    Next();
    auto node = NewNode(NodeKind::kOutput);
    ASSIGN_OR_RETURN(node->expr, expressions_.ExpressionList(/*with_conditional=*/true));
    RETURN_IF_ERROR(ExpectEnd(TokenKind::kOutputEnd, "}}"));
    return node;
  }

  struct StatementRow {
    absl::string_view word;
    absl::StatusOr<std::unique_ptr<Node>> (Parser::*parse)();
  };

  absl::StatusOr<std::unique_ptr<Node>> Statement() {
    static constexpr StatementRow kStatements[] = {{"if", &Parser::If},
                                                   {"for", &Parser::For},
                                                   {"set", &Parser::Set},
                                                   {"include", &Parser::Include}};
    const Token& token = Peek();
    if (token.kind != TokenKind::kName) return expressions_.Unexpected("the name of a statement");
    for (const StatementRow& row : kStatements) {
      if (row.word != token.text) continue;
      open_.emplace_back(token.text, token.place);
      RETURN_IF_ERROR(expressions_.Enter(token.place));
      ASSIGN_OR_RETURN(auto node, (this->*row.parse)());
      expressions_.Leave();
      open_.pop_back();
      return node;
    }
    return UnknownStatement(token);
  }

  absl::Status UnknownStatement(const Token& token) const {
    const std::string instead = Instead(WordKind::kStatement, token.text);
    if (!instead.empty()) {
      return expressions_.Error(
          token.place,
          absl::StrCat("{% ", token.text, " %} is outside Muster's subset of Jinja2", instead));
    }
    for (const absl::string_view word : {"elif", "else", "endif", "endfor", "endset", "endraw"}) {
      if (token.text != word) continue;
      return expressions_.Error(
          token.place, open_.empty()
                           ? absl::StrCat("{% ", word, " %} without anything to belong to")
                           : absl::StrCat("{% ", word, " %} inside {% ", open_.back().first,
                                          " %}, which is still open"));
    }
    return expressions_.Error(
        token.place,
        absl::StrCat("unknown statement '", token.text, "'",
                     DidYouMean(token.text, {"if", "elif", "else", "endif", "for", "endfor", "set",
                                             "endset", "include", "raw", "endraw"})));
  }

  absl::StatusOr<std::unique_ptr<Node>> If() {
    auto node = NewNode(NodeKind::kIf);
    Next();
    Token end;
    end.text = "if";
    while (true) {
      Branch branch;
      const bool is_else = end.text == "else";
      if (!is_else) {
        ASSIGN_OR_RETURN(branch.condition, expressions_.ExpressionList(/*with_conditional=*/true));
      }
      RETURN_IF_ERROR(ExpectStatementEnd());
      ASSIGN_OR_RETURN(branch.body,
                       Statements(is_else ? Words{"endif"} : Words{"elif", "else", "endif"}, &end));
      node->branches.push_back(std::move(branch));
      if (end.text != "endif") continue;
      RETURN_IF_ERROR(ExpectStatementEnd());
      return node;
    }
  }

  absl::StatusOr<std::unique_ptr<Node>> For() {
    auto node = NewNode(NodeKind::kFor);
    Next();
    ASSIGN_OR_RETURN(node->targets, Targets());
    if (!expressions_.SkipName("in")) return expressions_.Unexpected("'in'");
    ASSIGN_OR_RETURN(node->expr, expressions_.ExpressionList(/*with_conditional=*/false));
    if (expressions_.SkipName("if")) {
      ASSIGN_OR_RETURN(node->condition, expressions_.Expression());
    }
    if (Peek().Is(TokenKind::kName, "recursive")) {
      return expressions_.Error(Peek().place, "'recursive' is outside Muster's subset of Jinja2");
    }
    RETURN_IF_ERROR(ExpectStatementEnd());
    Token end;
    Branch body;
    ASSIGN_OR_RETURN(body.body, Statements({"else", "endfor"}, &end));
    node->branches.push_back(std::move(body));
    if (end.text == "else") {
      RETURN_IF_ERROR(ExpectStatementEnd());
      Branch otherwise;
      ASSIGN_OR_RETURN(otherwise.body, Statements({"endfor"}, &end));
      node->branches.push_back(std::move(otherwise));
    }
    RETURN_IF_ERROR(ExpectStatementEnd());
    return node;
  }

  absl::StatusOr<std::unique_ptr<Node>> Set() {
    auto node = NewNode(NodeKind::kSet);
    Next();
    ASSIGN_OR_RETURN(node->targets, Targets());
    const bool filtered = expressions_.AtOperator("|");
    if ((filtered || Peek().kind == TokenKind::kStatementEnd) && node->targets.size() == 1) {
      if (filtered) {
        ASSIGN_OR_RETURN(node->expr, expressions_.BlockFilters());
      }
      RETURN_IF_ERROR(ExpectStatementEnd());
      Token end;
      Branch body;
      ASSIGN_OR_RETURN(body.body, Statements({"endset"}, &end));
      node->branches.push_back(std::move(body));
      RETURN_IF_ERROR(ExpectStatementEnd());
      return node;
    }
    if (!expressions_.SkipOperator("=")) {
      return expressions_.Error(Peek().place,
                                "expected '='; {% set %} of an attribute is outside Muster's "
                                "subset of Jinja2");
    }
    ASSIGN_OR_RETURN(node->expr, expressions_.ExpressionList(/*with_conditional=*/true));
    RETURN_IF_ERROR(ExpectStatementEnd());
    return node;
  }

  absl::StatusOr<std::unique_ptr<Node>> Include() {
    auto node = NewNode(NodeKind::kInclude);
    Next();
    const Token& name = Peek();
    if (name.kind != TokenKind::kString) {
      return expressions_.Error(
          name.place, "{% include %} needs the name of a template in quotes: {% include 'x.j2' %}");
    }
    node->include = includes_.size();
    includes_.push_back({name.text, name.place});
    Next();
    // What Jinja2 does anyway.
    if (Peek().Is(TokenKind::kName, "with") && expressions_.Peek(1).text == "context") {
      Next();
      Next();
    }
    if (Peek().kind == TokenKind::kName) {
      return expressions_.Error(Peek().place,
                                absl::StrCat("'", Peek().text,
                                             "' after the name of an included template is outside "
                                             "Muster's subset of Jinja2"));
    }
    RETURN_IF_ERROR(ExpectStatementEnd());
    return node;
  }

  // "x" or "k, v", with or without parentheses.
  absl::StatusOr<std::vector<std::string>> Targets() {
    std::vector<std::string> targets;
    const bool parenthesis = expressions_.SkipOperator("(");
    do {
      const Place place = Peek().place;
      ASSIGN_OR_RETURN(const Token token, expressions_.ExpectName());
      if (std::find(std::begin(kNoTargets), std::end(kNoTargets), token.text) !=
          std::end(kNoTargets)) {
        return expressions_.Error(place, absl::StrCat("'", token.text, "' cannot be set"));
      }
      targets.push_back(token.text);
    } while (expressions_.SkipOperator(","));
    if (parenthesis) RETURN_IF_ERROR(expressions_.ExpectOperator(")"));
    return targets;
  }

  ExpressionParser expressions_;
  std::vector<internal::Include> includes_;
  std::vector<std::pair<std::string, Place>> open_;  // the enclosing statements
};

}  // namespace

absl::StatusOr<std::shared_ptr<internal::ParsedTemplate>> ParseTemplate(Source source,
                                                                        const Limits& limits) {
  auto parsed = std::make_shared<internal::ParsedTemplate>(std::move(source));
  ASSIGN_OR_RETURN(const std::vector<Token> tokens, TokenizeTemplate(parsed->source));
  Parser parser(parsed->source, tokens, limits.max_depth);
  ASSIGN_OR_RETURN(parsed->body, parser.Template());
  parsed->names = parser.names();
  parsed->includes = parser.TakeIncludes();
  return parsed;
}

absl::StatusOr<std::shared_ptr<const internal::ParsedTemplate>> ParseBareExpression(
    Source source, const Limits& limits) {
  auto parsed = std::make_shared<internal::ParsedTemplate>(std::move(source));
  ASSIGN_OR_RETURN(const std::vector<Token> tokens, TokenizeExpression(parsed->source));
  Parser parser(parsed->source, tokens, limits.max_depth);
  ASSIGN_OR_RETURN(parsed->expression, parser.BareExpression());
  parsed->names = parser.names();
  return parsed;
}

}  // namespace muster::tmpl
