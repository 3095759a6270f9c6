// A repository's server.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace muster::sys {
class HttpClient;
}

namespace muster::controller::snapshot {

// The url of a path below a repository's address, with the characters escaped that a url cannot
// have. Pure.
std::string UrlOf(absl::string_view uri, absl::string_view path);

// Fetches `path` into the new file `to`, from the first of the addresses that has it; the error is
// the last one's. At most `max_bytes`.
absl::Status Fetch(sys::HttpClient& http,
                   const google::protobuf::RepeatedPtrField<std::string>& uris,
                   absl::string_view path, const std::string& to, uint64_t max_bytes,
                   const std::function<bool()>& cancelled);

}  // namespace muster::controller::snapshot
