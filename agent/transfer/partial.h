// Records about a partly received content.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sys/file_system.h"

namespace muster::agent {

// A growing file has a record beside it of where its bytes come from; the record is written first.
struct Partial {
  std::string source;     // digest of the url: urls may hold passwords
  std::string validator;  // of the source; empty: it has none
  std::optional<uint64_t> total;
};

std::string FormatPartial(const Partial& partial);
// nullopt when it is not one of our records.
std::optional<Partial> ParsePartial(absl::string_view text);

// The two files, by the path of the first.
class PartialFile {
 public:
  PartialFile(std::string path, sys::FileSystem& files)
      : path_(std::move(path)), record_(path_ + ".from"), files_(files) {}

  const std::string& path() const { return path_; }
  // Number of bytes present; 0 when there is no record of where they come from.
  absl::StatusOr<uint64_t> Size() const;
  std::optional<Partial> Read() const;
  absl::Status Write(const Partial& partial);
  // Removes both; it is a success if there are none.
  absl::Status Remove();
  // The whole content's digest was right: the record is no longer needed.
  absl::Status RemoveRecord();

 private:
  const std::string path_;
  const std::string record_;
  sys::FileSystem& files_;
};

}  // namespace muster::agent
