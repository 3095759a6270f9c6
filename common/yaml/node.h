// The parsed tree of a YAML document: plain values without a parser behind them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::yaml {

// A place in the text; both count from 1 and a column is a byte. {0, 0} is "nowhere".
struct Mark {
  int line = 0;
  int column = 0;
};

enum class Kind { kNull, kScalar, kSequence, kMap };

// "nothing", "a value", "a list" or "a map": the words of error messages.
absl::string_view KindName(Kind kind);

struct Entry;

// One value of a document. Copies share their content, which never changes; copying is cheap and
// nodes outlive the document they came from. Safe to read from many threads.
class Node {
 public:
  Node() = default;  // null, nowhere

  static Node Null(Mark mark);
  static Node Scalar(Mark mark, std::string text, bool quoted);
  static Node Sequence(Mark mark, std::vector<Node> items);
  static Node Map(Mark mark, std::vector<Entry> entries);

  Kind kind() const;
  bool IsNull() const { return kind() == Kind::kNull; }
  bool IsScalar() const { return kind() == Kind::kScalar; }
  bool IsSequence() const { return kind() == Kind::kSequence; }
  bool IsMap() const { return kind() == Kind::kMap; }

  // Where the value begins; for an empty value, where its key begins.
  Mark mark() const;

  // The text of a scalar, quotes and escapes resolved; "" for any other kind.
  const std::string& text() const;
  // Whether the scalar was written in quotes or as a block (| or >), and so is certainly a string.
  bool quoted() const;

  // The items of a sequence; empty for any other kind.
  const std::vector<Node>& items() const;
  // The entries of a map, in the order written; empty for any other kind. Keys are unique.
  const std::vector<Entry>& entries() const;
  // The value under `key`, or nullptr. A linear search.
  const Node* Find(absl::string_view key) const;
  const Entry* FindEntry(absl::string_view key) const;

 private:
  struct Content;
  explicit Node(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

  std::shared_ptr<const Content> content_;  // nullptr: null, nowhere
};

// One key of a map with its value.
struct Entry {
  std::string key;
  Mark key_mark;
  Node value;
};

}  // namespace muster::yaml
