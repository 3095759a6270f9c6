// What the boot server is told of a disk, by plain HTTP as everything before the agent's own
// connection.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::sys {
class FileSystem;
class HttpClient;
}  // namespace muster::sys

namespace muster::agent::disk {

using ReportWords = std::vector<std::pair<std::string, std::string>>;

// "URL?phase=written&slot=a"; values are escaped. Pure.
std::string ReportUrl(absl::string_view url, const ReportWords& words);

// Tells the server once and waits for its answer, which is thrown away into `folder`, made if need
// be. OK without a URL.
absl::Status Report(const std::string& url, const ReportWords& words, const std::string& folder,
                    sys::FileSystem& files, sys::HttpClient& http);

}  // namespace muster::agent::disk
