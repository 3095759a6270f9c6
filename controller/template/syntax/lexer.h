// Splits a template into tokens. Handles whitespace control ("-", "+", trim_blocks, lstrip_blocks):
// the text tokens hold exactly what is printed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/template/syntax/source.h"

namespace muster::tmpl {

enum class TokenKind {
  kText,
  kOutputBegin,     // {{
  kOutputEnd,       // }}
  kStatementBegin,  // {%
  kStatementEnd,    // %}
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // a string literal without quotes, its escapes resolved
  Place place;
  int64_t integer = 0;
  double number = 0;

  bool Is(TokenKind wanted, absl::string_view wanted_text) const {
    return kind == wanted && text == wanted_text;
  }
};

// The name of a token in error messages: "'+'", "the end of the template".
std::string Describe(const Token& token);

// The last token is always kEnd.
absl::StatusOr<std::vector<Token>> TokenizeTemplate(const Source& source);
// Tokenizes the whole source as one expression.
absl::StatusOr<std::vector<Token>> TokenizeExpression(const Source& source);

}  // namespace muster::tmpl
