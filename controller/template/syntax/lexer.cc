#include "controller/template/syntax/lexer.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/template/syntax/literal.h"

namespace muster::tmpl {
namespace {

// Longer operators come first.
constexpr absl::string_view kOperators[] = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";",
};

bool IsNameStart(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_'; }
bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text()) {}

  absl::StatusOr<std::vector<Token>> Template() {
    while (at_ < text_.size()) {
      const size_t tag = FindTag(at_);
      if (tag == absl::string_view::npos) {
        AddText(text_.substr(at_), at_);
        at_ = text_.size();
        break;
      }
      RETURN_IF_ERROR(Tag(tag));
    }
    Add(TokenKind::kEnd, text_.size(), "");
    return std::move(tokens_);
  }

  absl::StatusOr<std::vector<Token>> Expression() {
    SkipSpace();
    while (at_ < text_.size()) {
      RETURN_IF_ERROR(ExpressionToken());
      SkipSpace();
    }
    RETURN_IF_ERROR(CheckBrackets());
    Add(TokenKind::kEnd, text_.size(), "");
    return std::move(tokens_);
  }

 private:
  size_t FindTag(size_t from) const {
    for (size_t at = text_.find('{', from); at != absl::string_view::npos;
         at = text_.find('{', at + 1)) {
      if (at + 1 < text_.size() &&
          absl::string_view("{%#").find(text_[at + 1]) != absl::string_view::npos) {
        return at;
      }
    }
    return absl::string_view::npos;
  }

  // Places must be requested in ascending order, so that counting lines stays linear.
  Place PlaceAt(size_t offset) {
    while (counted_ < offset) {
      if (text_[counted_++] == '\n') {
        ++line_;
        line_start_ = counted_;
      }
    }
    if (offset < line_start_) return source_.PlaceOf(line_, 0);
    return source_.PlaceOf(line_, offset - line_start_);
  }

  absl::Status ErrorAt(size_t offset, absl::string_view message) {
    return source_.Error(PlaceAt(offset), message);
  }

  Token& Add(TokenKind kind, size_t offset, absl::string_view text) {
    Token token;
    token.kind = kind;
    token.text = std::string(text);
    token.place = PlaceAt(offset);
    tokens_.push_back(std::move(token));
    return tokens_.back();
  }

  void AddText(absl::string_view text, size_t offset) {
    if (!text.empty()) Add(TokenKind::kText, offset, text);
  }

  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }

  // After the end of a tag: lstrip_blocks depends on where the next text starts.
  void MoveTo(size_t offset) {
    at_ = offset;
    line_starting_ = offset > 0 && text_[offset - 1] == '\n';
  }

  // The end of a block or comment: includes its newline, unless marked otherwise.
  void FinishTag(size_t after, char mark) {
    if (mark == '-') {
      while (after < text_.size() && IsSpace(text_[after])) ++after;
    } else if (mark != '+' && after < text_.size() && text_[after] == '\n') {
      ++after;
    }
    MoveTo(after);
  }

  // The text before a tag, stripped as the tag asks.
  absl::string_view TextBefore(size_t begin, size_t tag, char mark, bool strip_line) const {
    absl::string_view text = text_.substr(begin, tag - begin);
    if (mark == '-') return absl::StripTrailingAsciiWhitespace(text);
    if (mark == '+' || !strip_line) return text;
    const size_t newline = text.rfind('\n');
    const size_t line = newline == absl::string_view::npos ? 0 : newline + 1;
    if (line == 0 && !line_starting_) return text;
    const absl::string_view rest = text.substr(line);
    for (const char c : rest) {
      if (!IsSpace(c)) return text;
    }
    return text.substr(0, line);
  }

  char MarkAt(size_t offset) const {
    if (offset >= text_.size()) return 0;
    return text_[offset] == '-' || text_[offset] == '+' ? text_[offset] : 0;
  }

  absl::Status Tag(size_t tag) {
    const char kind = text_[tag + 1];
    const char mark = MarkAt(tag + 2);
    AddText(TextBefore(at_, tag, mark, /*strip_line=*/kind != '{'), at_);
    const size_t body = tag + 2 + (mark != 0 ? 1 : 0);
    if (kind == '#') return Comment(tag, body);
    size_t raw_end = 0;
    if (kind == '%' && MatchesKeywordTag(body, "raw", &raw_end)) return Raw(tag, raw_end);
    at_ = body;
    Add(kind == '{' ? TokenKind::kOutputBegin : TokenKind::kStatementBegin, tag,
        text_.substr(tag, 2));
    return Inside(tag, kind);
  }

  absl::Status Comment(size_t tag, size_t body) {
    const size_t end = text_.find("#}", body);
    if (end == absl::string_view::npos) return ErrorAt(tag, "the comment has no end ('#}')");
    const char mark = end > body ? MarkAt(end - 1) : 0;
    FinishTag(end + 2, mark);
    return absl::OkStatus();
  }

  // Whether `offset` is at "<space>word<space>[-]%}"; sets `end` to the offset of its "%}".
  bool MatchesKeywordTag(size_t offset, absl::string_view word, size_t* end) const {
    while (offset < text_.size() && IsSpace(text_[offset])) ++offset;
    if (!absl::StartsWith(text_.substr(offset), word)) return false;
    offset += word.size();
    while (offset < text_.size() && IsSpace(text_[offset])) ++offset;
    if (MarkAt(offset) != 0) ++offset;
    *end = offset;
    return absl::StartsWith(text_.substr(offset), "%}");
  }

  absl::Status Raw(size_t tag, size_t tag_end) {
    // The newline after {% raw %} stays; only "-" strips.
    if (text_[tag_end - 1] == '-') {
      FinishTag(tag_end + 2, '-');
    } else {
      MoveTo(tag_end + 2);
    }
    for (size_t close = text_.find("{%", at_); close != absl::string_view::npos;
         close = text_.find("{%", close + 1)) {
      const char mark = MarkAt(close + 2);
      size_t close_end = 0;
      if (!MatchesKeywordTag(close + 2 + (mark != 0 ? 1 : 0), "endraw", &close_end)) continue;
      AddText(TextBefore(at_, close, mark, /*strip_line=*/true), at_);
      FinishTag(close_end + 2, MarkAt(close_end - 1));
      return absl::OkStatus();
    }
    return ErrorAt(tag, "{% raw %} has no {% endraw %}");
  }

  absl::Status Inside(size_t tag, char kind) {
    const absl::string_view closing = kind == '{' ? "}}" : "%}";
    while (true) {
      SkipSpace();
      if (at_ >= text_.size()) {
        RETURN_IF_ERROR(CheckBrackets());
        return source_.Error(tokens_.empty() ? Place{} : PlaceOfTag(kind),
                             absl::StrCat("the tag has no end ('", closing, "')"));
      }
      if (brackets_.empty()) {
        const char mark = MarkAt(at_);
        const bool marked = mark == '-' || (mark == '+' && kind == '%');
        const size_t end = at_ + (marked ? 1 : 0);
        if (absl::StartsWith(text_.substr(end), closing)) {
          Add(kind == '{' ? TokenKind::kOutputEnd : TokenKind::kStatementEnd, at_, closing);
          if (kind == '{' && mark != '-') {
            MoveTo(end + 2);
          } else {
            FinishTag(end + 2, mark);
          }
          return absl::OkStatus();
        }
      }
      RETURN_IF_ERROR(ExpressionToken());
    }
  }

  Place PlaceOfTag(char kind) const {
    const TokenKind wanted = kind == '{' ? TokenKind::kOutputBegin : TokenKind::kStatementBegin;
    for (auto token = tokens_.rbegin(); token != tokens_.rend(); ++token) {
      if (token->kind == wanted) return token->place;
    }
    return {};
  }

  absl::Status CheckBrackets() {
    if (brackets_.empty()) return absl::OkStatus();
    return source_.Error(
        brackets_.back().second,
        absl::StrCat("'", std::string(1, brackets_.back().first), "' is never closed"));
  }

  absl::Status ExpressionToken() {
    const char c = text_[at_];
    if (IsNameStart(c)) {
      size_t end = at_ + 1;
      while (end < text_.size() && IsNameCharacter(text_[end])) ++end;
      Add(TokenKind::kName, at_, text_.substr(at_, end - at_));
      at_ = end;
      return absl::OkStatus();
    }
    if (absl::ascii_isdigit(c)) return Number();
    if (c == '"' || c == '\'') return String(c);
    return Operator();
  }

  absl::Status Number() {
    const bool after_dot = at_ > 0 && text_[at_ - 1] == '.';
    absl::StatusOr<NumberLiteral> number = ReadNumber(text_.substr(at_), after_dot);
    if (!number.ok()) return ErrorAt(at_, number.status().message());
    Token& token = Add(number->is_float ? TokenKind::kFloat : TokenKind::kInteger, at_,
                       text_.substr(at_, number->length));
    token.integer = number->integer;
    token.number = number->number;
    at_ += number->length;
    return absl::OkStatus();
  }

  absl::Status String(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return ErrorAt(at_, "the string has no closing quote");
    absl::StatusOr<std::string> value = Unescape(text_.substr(at_ + 1, end - at_ - 1));
    if (!value.ok()) return ErrorAt(at_, value.status().message());
    Add(TokenKind::kString, at_, *value);
    at_ = end + 1;
    return absl::OkStatus();
  }

  absl::Status Operator() {
    for (const absl::string_view op : kOperators) {
      if (!absl::StartsWith(text_.substr(at_), op)) continue;
      Add(TokenKind::kOperator, at_, op);
      RETURN_IF_ERROR(Balance(op[0]));
      at_ += op.size();
      return absl::OkStatus();
    }
    const char c = text_[at_];
    const std::string shown = absl::ascii_isgraph(static_cast<unsigned char>(c))
                                  ? absl::StrCat("'", std::string(1, c), "'")
                                  : "this character";
    return ErrorAt(at_, absl::StrCat("unexpected ", shown));
  }

  absl::Status Balance(char c) {
    const Place place = tokens_.back().place;
    if (c == '(' || c == '[' || c == '{') {
      brackets_.emplace_back(c, place);
      return absl::OkStatus();
    }
    if (c != ')' && c != ']' && c != '}') return absl::OkStatus();
    const char opening = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (!brackets_.empty() && brackets_.back().first == opening) {
      brackets_.pop_back();
      return absl::OkStatus();
    }
    return source_.Error(place, absl::StrCat("unexpected '", std::string(1, c), "'"));
  }

  const Source& source_;
  const absl::string_view text_;
  std::vector<Token> tokens_;
  std::vector<std::pair<char, Place>> brackets_;
  size_t at_ = 0;
  bool line_starting_ = true;
  // The place that has been counted up to.
  size_t counted_ = 0;
  size_t line_start_ = 0;
  int line_ = 0;
};

}  // namespace

std::string Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end";
    case TokenKind::kText:
      return "text";
    case TokenKind::kString:
      return "a string";
    default:
      return absl::StrCat("'", token.text, "'");
  }
}

absl::StatusOr<std::vector<Token>> TokenizeTemplate(const Source& source) {
  return Lexer(source).Template();
}

absl::StatusOr<std::vector<Token>> TokenizeExpression(const Source& source) {
  return Lexer(source).Expression();
}

}  // namespace muster::tmpl
