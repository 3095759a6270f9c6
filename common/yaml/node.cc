#include "common/yaml/node.h"

#include <utility>

namespace muster::yaml {

struct Node::Content {
  Kind kind = Kind::kNull;
  Mark mark;
  std::string text;
  bool quoted = false;
  std::vector<Node> items;
  std::vector<Entry> entries;
};

absl::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return "a value";
    case Kind::kSequence:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return "?";
}

Node Node::Null(Mark mark) {
  auto content = std::make_shared<Content>();
  content->mark = mark;
  return Node(std::move(content));
}

Node Node::Scalar(Mark mark, std::string text, bool quoted) {
  auto content = std::make_shared<Content>();
  content->kind = Kind::kScalar;
  content->mark = mark;
  content->text = std::move(text);
  content->quoted = quoted;
  return Node(std::move(content));
}

Node Node::Sequence(Mark mark, std::vector<Node> items) {
  auto content = std::make_shared<Content>();
  content->kind = Kind::kSequence;
  content->mark = mark;
  content->items = std::move(items);
  return Node(std::move(content));
}

Node Node::Map(Mark mark, std::vector<Entry> entries) {
  auto content = std::make_shared<Content>();
  content->kind = Kind::kMap;
  content->mark = mark;
  content->entries = std::move(entries);
  return Node(std::move(content));
}

Kind Node::kind() const { return content_ == nullptr ? Kind::kNull : content_->kind; }

Mark Node::mark() const { return content_ == nullptr ? Mark{} : content_->mark; }

const std::string& Node::text() const {
  static const std::string* const kEmpty = new std::string();
  return content_ == nullptr ? *kEmpty : content_->text;
}

bool Node::quoted() const { return content_ != nullptr && content_->quoted; }

const std::vector<Node>& Node::items() const {
  static const std::vector<Node>* const kEmpty = new std::vector<Node>();
  return content_ == nullptr ? *kEmpty : content_->items;
}

const std::vector<Entry>& Node::entries() const {
  static const std::vector<Entry>* const kEmpty = new std::vector<Entry>();
  return content_ == nullptr ? *kEmpty : content_->entries;
}

const Entry* Node::FindEntry(absl::string_view key) const {
  for (const Entry& entry : entries()) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

const Node* Node::Find(absl::string_view key) const {
  const Entry* entry = FindEntry(key);
  return entry == nullptr ? nullptr : &entry->value;
}

}  // namespace muster::yaml
