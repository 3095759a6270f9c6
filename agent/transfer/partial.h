// What is known of a content that has come in part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sys/file_system.h"

namespace muster::agent {

// A file that grows, and beside it a record of where its bytes come from; written before they are.
struct Partial {
  std::string source;     // digest of the url: urls may hold passwords
  std::string validator;  // of the source; empty: it gives none
  std::optional<uint64_t> total;
};

std::string FormatPartial(const Partial& partial);
// nullopt when it is none of ours.
std::optional<Partial> ParsePartial(absl::string_view text);

// The two files, by the path of the first.
class PartialFile {
 public:
  PartialFile(std::string path, sys::FileSystem& files)
      : path_(std::move(path)), record_(path_ + ".from"), files_(files) {}

  const std::string& path() const { return path_; }
  // Bytes that are there; 0 when there is no record of where they come from.
  absl::StatusOr<uint64_t> Size() const;
  std::optional<Partial> Read() const;
  absl::Status Write(const Partial& partial);
  // Both; none there is success.
  absl::Status Remove();
  // The whole content's digest was found right: the record has done its work.
  absl::Status RemoveRecord();

 private:
  const std::string path_;
  const std::string record_;
  sys::FileSystem& files_;
};

}  // namespace muster::agent
