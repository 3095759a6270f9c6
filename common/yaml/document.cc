#include "common/yaml/document.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/base/text/source_error.h"

namespace muster::yaml {
namespace {

constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr absl::string_view kStringTag = "tag:yaml.org,2002:str";

Mark FromYamlCpp(const YAML::Mark& mark) {
  if (mark.is_null()) return Mark{1, 1};
  return Mark{mark.line + 1, mark.column + 1};
}

// Thrown through yaml-cpp, which has no other way to stop it; caught in Parse.
struct Stop {
  Mark mark;
  std::string message;
  bool exhausted = false;
};

// Builds the tree from yaml-cpp's events, in order to see duplicate keys, tags and the cost of
// aliases, which its own tree hides.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(const Limits& limits) : limits_(limits) {}

  Node TakeRoot() { return std::move(root_); }
  // Where the innermost unfinished list or map begins.
  std::optional<Mark> Innermost() const {
    return open_.empty() ? std::nullopt : std::optional<Mark>(open_.back().mark);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      throw Stop{FromYamlCpp(mark), "a second document; write one document per file"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Mark place = FromYamlCpp(mark);
    Count(place, 1);
    // yaml-cpp puts an absent value at the token that follows it.
    const bool under_key = !open_.empty() && open_.back().key.has_value();
    Finish({Node::Null(under_key ? open_.back().key->mark : place), 1, 0}, anchor, place);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const Mark place = FromYamlCpp(mark);
    Count(place, 1);
    const bool is_string = tag == kStringTag;
    if (!is_string) CheckTag(place, tag);
    Finish({Node::Scalar(place, value, is_string || tag == "!"), 1, 0}, anchor, place);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Mark place = FromYamlCpp(mark);
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Stop{place, "an alias inside its own value"};
    const Value value = found->second;
    Count(place, value.size);
    CheckDepth(place, static_cast<int>(open_.size()) + value.height);
    Finish(value, 0, place);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, /*is_map=*/false);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, /*is_map=*/true);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Value {
    Node node;
    size_t size = 1;  // nodes in it
    int height = 0;   // lists and maps inside each other
  };
  struct Key {
    std::string text;
    Mark mark;
  };
  // An unfinished list or map.
  struct Collection {
    bool is_map;
    Mark mark;
    YAML::anchor_t anchor;
    size_t size = 1;
    int height = 1;
    std::optional<Key> key;  // of a map: read, its value is next
    std::vector<Node> items;
    std::vector<Entry> entries;
    absl::flat_hash_map<std::string, Mark> seen;
  };

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool is_map) {
    const Mark place = FromYamlCpp(mark);
    CheckTag(place, tag);
    if (!open_.empty() && open_.back().is_map && !open_.back().key.has_value()) {
      throw Stop{place, "a key must be plain text (a template that begins with '{{' needs quotes)"};
    }
    Count(place, 1);
    CheckDepth(place, static_cast<int>(open_.size()) + 1);
    open_.push_back(Collection{is_map, place, anchor});
  }

  void Close() {
    Collection done = std::move(open_.back());
    open_.pop_back();
    Node node = done.is_map ? Node::Map(done.mark, std::move(done.entries))
                            : Node::Sequence(done.mark, std::move(done.items));
    Finish({std::move(node), done.size, done.height}, done.anchor, done.mark);
  }

  // Passes a finished value to the list or map that contains it.
  void Finish(Value value, YAML::anchor_t anchor, Mark place) {
    if (anchor != 0) anchors_[anchor] = value;
    if (open_.empty()) {
      root_ = std::move(value.node);
      return;
    }
    Collection& parent = open_.back();
    parent.size += value.size;
    parent.height = std::max(parent.height, value.height + 1);
    if (!parent.is_map) {
      parent.items.push_back(std::move(value.node));
    } else if (parent.key.has_value()) {
      parent.entries.push_back(
          Entry{std::move(parent.key->text), parent.key->mark, std::move(value.node)});
      parent.key.reset();
    } else {
      TakeKey(parent, value.node, place);
    }
  }

  void TakeKey(Collection& parent, const Node& node, Mark place) {
    if (node.IsNull()) throw Stop{place, "a key is missing (write null or ~ in quotes as a key)"};
    if (!node.IsScalar()) throw Stop{place, "a key must be plain text"};
    if (node.text() == "<<" && !node.quoted()) {
      throw Stop{place, "merge keys (<<) are not supported: write the values out"};
    }
    const auto [first, is_new] = parent.seen.try_emplace(node.text(), place);
    if (!is_new) {
      throw Stop{place, absl::StrCat("duplicate key '", node.text(), "', first on line ",
                                     first->second.line)};
    }
    parent.key = Key{node.text(), place};
  }

  void Count(Mark place, size_t nodes) {
    if (nodes > limits_.max_nodes - nodes_) {
      throw Stop{place, absl::StrCat("more than ", limits_.max_nodes, " values"), true};
    }
    nodes_ += nodes;
  }

  void CheckDepth(Mark place, int depth) const {
    if (depth > limits_.max_depth) {
      throw Stop{place, absl::StrCat("nested deeper than ", limits_.max_depth, " levels"), true};
    }
  }

  static void CheckTag(Mark place, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Stop{place, absl::StrCat("the tag '", tag, "' is not supported: remove it")};
  }

  const Limits limits_;
  int documents_ = 0;
  size_t nodes_ = 0;
  std::vector<Collection> open_;
  absl::flat_hash_map<YAML::anchor_t, Value> anchors_;
  Node root_;
};

// The length of the UTF-8 character at the start of `text`, 0 if it is not one.
size_t Utf8Length(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : lead >= 0xE0 && lead <= 0xEF ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) > 0x9F;
  const bool too_large = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

// The first byte that no YAML text may hold. yaml-cpp would take some of them for the end.
std::optional<Stop> FindBadByte(absl::string_view text) {
  Mark mark{1, 1};
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8Length(text.substr(i));
    if (length == 0) return Stop{mark, "not valid UTF-8: save the file as UTF-8 text"};
    const unsigned char c = text[i];
    const bool is_line_end = c == '\n' || (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
    if (absl::ascii_iscntrl(c) && c != '\t' && !is_line_end) {
      return Stop{mark, absl::StrFormat("control character 0x%02x: this is not a text file", c)};
    }
    mark.column = c == '\n' ? 1 : mark.column + static_cast<int>(length);
    mark.line += c == '\n';
    i += length;
  }
  return std::nullopt;
}

// yaml-cpp reports that an end is missing, and where it noticed: rarely where it was forgotten.
struct Bracket {
  absl::string_view error;  // of yaml-cpp
  absl::string_view open, close;
};
const Bracket kBrackets[] = {{YAML::ErrorMsg::END_OF_MAP_FLOW, "{", "}"},
                             {YAML::ErrorMsg::END_OF_SEQ_FLOW, "[", "]"}};

const Bracket* FindBracket(absl::string_view error) {
  const auto* found = std::find_if(std::begin(kBrackets), std::end(kBrackets),
                                   [&](const Bracket& row) { return row.error == error; });
  return found == std::end(kBrackets) ? nullptr : found;
}

// yaml-cpp's message about a tab in the indentation does not mention the tab.
absl::string_view TabHint(absl::string_view text, int line) {
  for (int i = 1; i < line && !text.empty(); ++i) {
    text.remove_prefix(std::min(text.size(), text.substr(0, text.find('\n')).size() + 1));
  }
  const absl::string_view indent = text.substr(0, text.find_first_not_of(" \t"));
  return indent.find('\t') == absl::string_view::npos ? "" : " (indent with spaces, not tabs)";
}

}  // namespace

absl::StatusOr<Document> Document::Parse(absl::string_view file_name, absl::string_view text,
                                         const Limits& limits) {
  if (text.size() > limits.max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        file_name, ": ", text.size(), " bytes of YAML; at most ", limits.max_bytes, " are read"));
  }
  absl::ConsumePrefix(&text, kByteOrderMark);
  Document document;
  document.source_ =
      std::make_shared<const Source>(Source{std::string(file_name), std::string(text)});
  if (const std::optional<Stop> bad = FindBadByte(text)) {
    return document.Error(bad->mark, bad->message);
  }
  Builder builder(limits);
  try {
    std::istringstream stream(document.source_->text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    document.root_ = builder.TakeRoot();
    return document;
  } catch (const Stop& stop) {
    const absl::Status error = document.Error(stop.mark, stop.message);
    return stop.exhausted ? absl::ResourceExhaustedError(error.message()) : error;
  } catch (const YAML::Exception& error) {
    const Mark mark = FromYamlCpp(error.mark);
    const Bracket* bracket = FindBracket(error.msg);
    if (const std::optional<Mark> begin = builder.Innermost(); bracket != nullptr && begin) {
      return document.Error(
          *begin, absl::StrCat("this '", bracket->open, "' is not closed; line ", mark.line,
                               " continues without its '", bracket->close, "'"));
    }
    return document.Error(mark, absl::StrCat(error.msg, TabHint(document.text(), mark.line)));
  } catch (const std::exception& error) {
    return document.Error(Mark{1, 1}, absl::StrCat("not readable as YAML: ", error.what()));
  }
}

const std::string& Document::file_name() const {
  static const std::string* const kEmpty = new std::string();
  return source_ == nullptr ? *kEmpty : source_->file_name;
}

const std::string& Document::text() const {
  static const std::string* const kEmpty = new std::string();
  return source_ == nullptr ? *kEmpty : source_->text;
}

Document Document::At(const Node& part) const {
  Document document;
  document.source_ = source_;
  document.root_ = part;
  return document;
}

absl::Status Document::Error(const Node& node, absl::string_view message) const {
  return Error(node.mark(), message);
}

absl::Status Document::Error(Mark mark, absl::string_view message) const {
  return absl::InvalidArgumentError(RenderSourceError(file_name(), std::max(mark.line, 1),
                                                      std::max(mark.column, 1), text(), message));
}

}  // namespace muster::yaml
