// Typed readers over the tree, whose errors name the place and the nearest known word.
//
//   MapReader reader(document, node, "rack");
//   RETURN_IF_ERROR(reader.Required("nodes", &rack.nodes));
//   RETURN_IF_ERROR(reader.Optional("power_limit_watts", &rack.power_limit_watts));
//   RETURN_IF_ERROR(reader.Finish());
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/yaml/document.h"

namespace muster::yaml {

// Each reads one value; *out is set only on success. A string is any plain or quoted scalar as
// written (0400 stays "0400", true stays "true"). A bool is true or false, as in YAML 1.2.
// Durations are written with units: "30s", "1h30m". A list of strings may be empty; a single string
// is read as a list of one.
absl::Status Read(const Document& document, const Node& node, std::string* out);
absl::Status Read(const Document& document, const Node& node, bool* out);
absl::Status Read(const Document& document, const Node& node, int* out);
absl::Status Read(const Document& document, const Node& node, int64_t* out);
absl::Status Read(const Document& document, const Node& node, double* out);
absl::Status Read(const Document& document, const Node& node, absl::Duration* out);
absl::Status Read(const Document& document, const Node& node, std::vector<std::string>* out);
absl::Status Read(const Document& document, const Node& node, Node* out);  // any value

// Reads one map key by key and reports the keys that nobody asked for. `what` names the map in
// errors: "rack", "task". The document must outlive the reader.
class MapReader {
 public:
  MapReader(const Document& document, const Node& node, absl::string_view what);

  // InvalidArgument when the key is absent, empty or of another type, and when the node is not a
  // map.
  template <typename T>
  absl::Status Required(absl::string_view key, T* out) {
    absl::Status absent = Absent(key);
    const Node* value = Take(key);
    return value == nullptr ? absent : ReadValue(key, *value, out);
  }

  // Leaves *out alone when the key is absent. A key without a value is an error, except for lists
  // and for Node.
  template <typename T>
  absl::Status Optional(absl::string_view key, T* out) {
    const Node* value = Take(key);
    return value == nullptr ? absl::OkStatus() : ReadValue(key, *value, out);
  }

  // The value under `key`, or nullptr; the key counts as known from now on.
  const Node* Take(absl::string_view key);
  // Makes a key known without reading it.
  void Allow(absl::string_view key) { Take(key); }

  // The error of a key that has to have a value.
  absl::Status Empty(absl::string_view key, const Node& value) const;

  // InvalidArgument when the node is not a map, or names all keys that were never asked for.
  absl::Status Finish() const;

 private:
  absl::Status Absent(absl::string_view key) const;
  template <typename T>
  absl::Status ReadValue(absl::string_view key, const Node& value, T* out) {
    return value.IsNull() ? Empty(key, value) : Read(document_, value, out);
  }
  absl::Status ReadValue(absl::string_view, const Node& value, std::vector<std::string>* out) {
    return Read(document_, value, out);
  }
  absl::Status ReadValue(absl::string_view, const Node& value, Node* out) {
    return Read(document_, value, out);
  }

  const Document& document_;
  const Node node_;
  const std::string what_;
  std::vector<std::string> known_;
};

}  // namespace muster::yaml
