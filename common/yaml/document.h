// Reads YAML text into a checked tree. Only this code calls yaml-cpp; its exceptions end here.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/yaml/node.h"

namespace muster::yaml {

// Limits on the cost of a document. Aliases count with everything that they stand for.
struct Limits {
  size_t max_bytes = 8 << 20;
  int max_depth = 64;
  size_t max_nodes = 500'000;
};

// One YAML document with its source text, so that errors can show the line. Immutable; copies share
// the text.
class Document {
 public:
  Document() = default;

  // Stricter than YAML: exactly one document (an empty one has a null root), UTF-8 without control
  // characters, keys are plain text and unique, no merge keys (<<), no tags except !!str. Errors
  // are InvalidArgument in the form of Error(), or ResourceExhausted above a limit.
  static absl::StatusOr<Document> Parse(absl::string_view file_name, absl::string_view text,
                                        const Limits& limits = {});

  const std::string& file_name() const;
  const std::string& text() const;
  const Node& root() const { return root_; }
  // The same text with `part`, a node of this document, as its root. Keeps nothing else of the
  // tree.
  Document At(const Node& part) const;

  // InvalidArgument "file:line:column: message", with the line shown and a caret under the place.
  absl::Status Error(const Node& node, absl::string_view message) const;
  absl::Status Error(Mark mark, absl::string_view message) const;

 private:
  struct Source {
    std::string file_name;
    std::string text;
  };

  std::shared_ptr<const Source> source_;
  Node root_;
};

}  // namespace muster::yaml
