// Determines which contents a step needs. Pure.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/resources/blob_source.h"

namespace muster::v1 {
class AgentResource;
class ArchiveResource;
class DownloadResource;
class Step;
}  // namespace muster::v1

namespace muster::agent {

Content ContentOf(const v1::AgentResource& spec);
Content ContentOf(const v1::DownloadResource& spec);
Content ContentOf(const v1::ArchiveResource& spec);
// Empty: everything that the step needs is in the plan.
std::vector<Content> ContentsOf(const v1::Step& step);

// InvalidArgument unless `text` is a SHA-256 in lower-case hex.
absl::Status CheckSha256(absl::string_view field, absl::string_view text);
// InvalidArgument for an invalid digest, url or proxy.
absl::Status CheckContent(const Content& content);

}  // namespace muster::agent
