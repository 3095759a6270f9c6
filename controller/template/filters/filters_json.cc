// Filters that write and read JSON.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/value/folded_value.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

constexpr int64_t kMaxJsonIndent = 16;

// How Python's json.dumps writes a value.
struct JsonStyle {
  int64_t indent = -1;  // negative: on one line
  bool sorted = false;
  bool ascii = true;       // other characters as \u escapes
  bool html_safe = false;  // <, >, & and ' too
};

void AppendJsonCharacter(absl::string_view character, const JsonStyle& style, std::string* out) {
  constexpr absl::string_view kLetters = "\"\\\n\r\t\f\b";
  constexpr absl::string_view kEscapes = "\"\\nrtfb";
  const size_t simple =
      character.size() == 1 ? kLetters.find(character[0]) : absl::string_view::npos;
  if (simple != absl::string_view::npos) {
    absl::StrAppend(out, "\\", kEscapes.substr(simple, 1));
    return;
  }
  const uint32_t code = DecodeUtf8(character);
  const bool unsafe = style.html_safe && character.size() == 1 &&
                      absl::string_view("<>&'").find(character[0]) != absl::string_view::npos;
  if (code >= 0x20 && !unsafe && (code <= 0x7E || !style.ascii)) {
    absl::StrAppend(out, character);
  } else if (code >= 0x10000) {
    const uint32_t rest = code - 0x10000;
    absl::StrAppendFormat(out, "\\u%04x\\u%04x", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
  } else {
    absl::StrAppendFormat(out, "\\u%04x", code);
  }
}

class JsonWriter {
 public:
  JsonWriter(Context& context, const JsonStyle& style) : context_(context), style_(style) {}

  void Write(const Value& value, int depth) {
    if (!context_.budget.Enter(depth) || !context_.budget.Spend(1)) return;
    if (IsFolded(value)) {
      Write(SpendUnfold(context_, value), depth);
    } else if (IsText(value)) {
      WriteText(Text(context_, value));
    } else if (value.is_array()) {
      out_.push_back('[');
      for (size_t i = 0; i < value.size() && context_.budget.status().ok(); ++i) {
        Separate(i == 0, depth + 1);
        Write(value[i], depth + 1);
      }
      Close(']', value.empty(), depth);
    } else if (value.is_object()) {
      WriteObject(value, depth);
    } else if (value.is_boolean() || value.is_null()) {
      out_ += value.is_null() ? "null" : value.get<bool>() ? "true" : "false";
    } else if (value.is_number_float() && !std::isfinite(value.get<double>())) {
      status_ = absl::InvalidArgumentError("JSON has no infinite numbers");
    } else {
      AppendRepr(context_, value, &out_);
    }
  }

  FilterResult Take() {
    RETURN_IF_ERROR(status_);
    return NewValue(std::move(out_));
  }

 private:
  void WriteObject(const Value& object, int depth) {
    std::vector<std::pair<absl::string_view, const Value*>> entries;
    for (auto entry = object.begin(); entry != object.end(); ++entry)
      entries.emplace_back(entry.key(), &*entry);
    if (style_.sorted) std::sort(entries.begin(), entries.end());
    out_.push_back('{');
    for (size_t i = 0; i < entries.size() && context_.budget.status().ok(); ++i) {
      Separate(i == 0, depth + 1);
      WriteText(entries[i].first);
      out_ += ": ";
      Write(*entries[i].second, depth + 1);
    }
    Close('}', entries.empty(), depth);
  }
  void WriteText(absl::string_view text) {
    if (!context_.budget.SpendMore(out_.size(), 6 * text.size())) return;
    out_.push_back('"');
    for (const absl::string_view character : Characters(text))
      AppendJsonCharacter(character, style_, &out_);
    out_.push_back('"');
  }
  void Separate(bool first, int depth) {
    if (!first) out_ += style_.indent >= 0 ? "," : ", ";
    NewLine(depth);
  }
  void Close(char bracket, bool empty, int depth) {
    if (!empty) NewLine(depth);
    out_.push_back(bracket);
  }
  void NewLine(int depth) {
    if (style_.indent < 0) return;
    const auto width = static_cast<size_t>(style_.indent * depth);
    if (!context_.budget.SpendMore(out_.size(), width)) return;
    absl::StrAppend(&out_, "\n", std::string(width, ' '));
  }

  Context& context_;
  const JsonStyle style_;
  std::string out_;
  absl::Status status_;
};

// The arguments are indent, sort_keys and ensure_ascii.
FilterResult WriteJson(Call& call, absl::string_view filter, JsonStyle style) {
  if (call.Arg(0) != nullptr) {
    style.indent = -1;
    if (!call.Arg(0)->is_null()) {
      ASSIGN_OR_RETURN(style.indent, call.IntArg(0, 0));
    }
  }
  if (style.indent > kMaxJsonIndent) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter '", filter, "' indents by at most ", kMaxJsonIndent));
  }
  if (call.args.size() > 1) {
    ASSIGN_OR_RETURN(style.sorted, call.BoolArg(1, style.sorted));
    ASSIGN_OR_RETURN(style.ascii, call.BoolArg(2, style.ascii));
  }
  JsonWriter writer(call.context, style);
  writer.Write(*call.input, 0);
  return writer.Take();
}

// Builds a value from the events of the parser, in order to bound it and to see what Python's
// json.loads reads otherwise.
class JsonReader final : public nlohmann::json_sax<Value> {
 public:
  explicit JsonReader(Context& context) : context_(context) {}

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(INT64_MAX)) return TooLarge();
    return Add(static_cast<int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t& written) override {
    if (written.find_first_of(".eE") == string_t::npos) return TooLarge();
    return Add(value);
  }
  bool string(string_t& text) override {
    return context_.budget.SpendText(text.size()) && Add(std::move(text));
  }
  bool binary(binary_t&) override { return Stop("JSON has no binary values"); }

  bool start_object(size_t) override {
    // A key is never a secret, so it would be shown.
    if (context_.tainted) return Stop("the JSON of a secret must not hold a dictionary");
    return Open(Value::object());
  }
  bool key(string_t& text) override {
    keys_.back() = text;
    return context_.budget.SpendText(text.size());
  }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(Value::array()); }
  bool end_array() override { return Close(); }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Stop(absl::StrCat("filter 'from_json' found no valid JSON at byte ", position));
  }

  const absl::Status& status() const { return status_; }
  Value Take() { return std::move(root_); }

 private:
  bool Stop(absl::string_view message) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(message);
    return false;
  }
  bool TooLarge() { return Stop("a number in the JSON does not fit into 64 bits"); }

  // Puts a value into the innermost list or object. The last of equal keys counts.
  bool Add(Value value) {
    if (!context_.budget.Spend(1)) return false;
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Value& parent = open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return true;
    }
    if (!context_.budget.Spend(parent.size() / 8)) return false;
    parent[keys_.back()] = std::move(value);
    return true;
  }
  bool Open(Value empty) {
    if (!context_.budget.Spend(1) || !context_.budget.Enter(static_cast<int>(open_.size()) + 1))
      return false;
    open_.push_back(std::move(empty));
    keys_.emplace_back();
    return true;
  }
  bool Close() {
    Value done = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return Add(std::move(done));
  }

  Context& context_;
  std::vector<Value> open_;        // the lists and objects that are not finished
  std::vector<std::string> keys_;  // of each of them: the last key read
  Value root_;
  absl::Status status_;
};

}  // namespace

uint32_t DecodeUtf8(absl::string_view character) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(character[i]));
  };
  switch (character.size()) {
    case 2:
      return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3:
      return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    case 4:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
             (byte(3) & 0x3F);
    default:
      return byte(0);
  }
}

FilterResult ToJsonForHtml(Call& call) {
  return WriteJson(call, "tojson", {.sorted = true, .html_safe = true});
}
FilterResult ToJson(Call& call) { return WriteJson(call, "to_json", {}); }
FilterResult ToNiceJson(Call& call) {
  return WriteJson(call, "to_nice_json", {.indent = 4, .sorted = true});
}

FilterResult FromJson(Call& call) {
  if (!IsText(*call.input)) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter 'from_json' needs a string, not ", TypeName(*call.input)));
  }
  const absl::string_view text = Text(call.context, *call.input);
  // A byte order mark, which Python refuses.
  if (absl::StartsWith(text, "\xEF\xBB\xBF"))
    return absl::InvalidArgumentError("filter 'from_json' found no valid JSON at byte 1");
  JsonReader reader(call.context);
  const bool read = Value::sax_parse(text.begin(), text.end(), &reader);
  RETURN_IF_ERROR(call.context.budget.status());
  RETURN_IF_ERROR(reader.status());
  if (!read) return absl::InvalidArgumentError("filter 'from_json' found no valid JSON");
  return NewValue(reader.Take());
}

}  // namespace muster::tmpl
