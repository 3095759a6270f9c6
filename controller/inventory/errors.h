// Collects errors with their places, so that one pass over an inventory shows all of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/text/joined_errors.h"
#include "common/yaml/document.h"
#include "controller/inventory/inventory.h"

namespace muster::controller {

// A place in one of the inventory's documents, which must outlive it.
struct Origin {
  const yaml::Document* document = nullptr;
  yaml::Mark mark;

  Place ToPlace() const;
};

// A word that refers to something, and where it was written.
struct Reference {
  std::string text;
  Origin origin;
};

class Errors {
 public:
  void Add(const Origin& origin, absl::string_view message);
  // As Add, unless `message` is empty; returns whether it was.
  bool Check(const Origin& origin, absl::string_view message);
  // Returns whether `status` was OK.
  bool Add(const absl::Status& status);
  // The same for a status of ToStatus(): its errors are added one by one.
  bool AddAll(const absl::Status& status);
  // Adds an error of ExpandHostlist about the text at `origin`, at the character that it names.
  void AddHostlist(const Origin& origin, const absl::Status& status);

  bool empty() const { return count_ == 0; }
  // Whether further errors will only be counted.
  bool full() const { return count_ >= kMaxJoinedErrors; }
  // OK, or InvalidArgument as JoinErrors() makes it, one error per line.
  absl::Status ToStatus() const;

 private:
  size_t count_ = 0;
  std::vector<std::string> messages_;
};

}  // namespace muster::controller
