// Edits of a YAML text that leave every byte elsewhere as it is: comments, order, quotes. Pure.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/yaml/document.h"

namespace muster::cli {

// Collects edits of one file. A key or value that is written in a way that this class does not
// change (escapes, several lines, an anchor or a tag before it) is InvalidArgument with its place.
class YamlText {
 public:
  static absl::StatusOr<YamlText> Parse(const std::string& file, const std::string& text);

  const yaml::Document& document() const { return document_; }

  // Gives a value or a key another text. Quotes stay; a plain one gets some where brackets or
  // commas would be read otherwise. The same edit twice is one.
  absl::Status Replace(const yaml::Node& scalar, const std::string& text);
  absl::Status ReplaceKey(const yaml::Entry& entry, const std::string& text);

  // Whether the entry of `map` has lines of its own, so that CopyEntry() can copy them.
  bool StandsAlone(const yaml::Node& map, const yaml::Entry& entry) const;
  // Puts a copy of the entry behind it, and behind its earlier copies, with another key and without
  // its comments. `values` are the new texts of some of its values, by their keys. `written` are
  // values that the copy has as they are here, whether the entry has any or not.
  // REQUIRES: StandsAlone().
  absl::Status CopyEntry(const yaml::Entry& entry, const std::string& key,
                         const std::map<std::string, std::string>& values,
                         const std::map<std::string, std::string>& written = {});

  // Takes the entry out, with the comments in it and behind it; those before it stay.
  absl::Status RemoveEntry(const yaml::Node& map, const yaml::Entry& entry);
  // Takes a scalar out of a list that keeps another one: its line, or with its comma.
  absl::Status RemoveItem(const yaml::Node& item);
  // Puts `text` in the place of a scalar, or of a list in brackets, as it is.
  absl::Status ReplaceList(const yaml::Node& list, const std::string& text);

  bool is_changed() const { return !edits_.empty(); }
  // The text with all edits.
  std::string Edited() const;

 private:
  struct Edit {
    size_t length = 0;
    std::string text;
  };
  struct Lines {
    size_t begin = 0, end = 0;  // offsets; `end` is after the last newline
  };

  absl::StatusOr<Edit> ScalarEdit(yaml::Mark mark, const std::string& before,
                                  const std::string& after) const;
  // A scalar, or a list in brackets, with another text as it is.
  absl::StatusOr<Edit> ListEdit(const yaml::Node& list, const std::string& text,
                                const std::string& what) const;
  absl::Status ReplaceAt(yaml::Mark mark, const std::string& before, const std::string& after);
  absl::Status ByHand(yaml::Mark mark, const std::string& what) const;
  size_t Offset(yaml::Mark mark) const;
  Lines LinesOf(const yaml::Entry& entry) const;

  bool has_byte_order_mark_ = false;
  yaml::Document document_;
  std::map<size_t, Edit> edits_;  // by offset
};

}  // namespace muster::cli
