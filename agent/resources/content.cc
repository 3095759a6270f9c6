#include "agent/resources/content.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "agent/resources/check_values.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/sys/http/http_text.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

// The fields that downloads and archives share.
template <typename Spec>
Content FromUrls(const Spec& spec) {
  Content content;
  content.sha256 = spec.sha256();
  content.urls.assign(spec.urls().begin(), spec.urls().end());
  content.proxy = spec.proxy();
  if (spec.has_timeout()) content.timeout = ToDuration(spec.timeout());
  if (spec.attempts() > 0) content.attempts = spec.attempts();
  return content;
}

}  // namespace

Content ContentOf(const v1::AgentResource& spec) {
  Content content;
  content.sha256 = spec.sha256();
  content.urls.assign(spec.urls().begin(), spec.urls().end());
  return content;
}

Content ContentOf(const v1::DownloadResource& spec) { return FromUrls(spec); }

Content ContentOf(const v1::ArchiveResource& spec) {
  Content content = FromUrls(spec);
  content.size = spec.blob_size();
  return content;
}

std::vector<Content> ContentsOf(const v1::Step& step) {
  std::vector<Content> contents;
  const auto add_blob = [&contents](const auto& file) {
    if (file.blob_sha256().empty()) return;
    contents.push_back({.sha256 = file.blob_sha256(), .size = file.blob_size()});
  };
  if (step.has_agent()) contents.push_back(ContentOf(step.agent()));
  if (step.has_download()) contents.push_back(ContentOf(step.download()));
  if (step.has_archive() && step.archive().state() != v1::PRESENCE_ABSENT &&
      (step.archive().is_blob() || !step.archive().urls().empty()))
    contents.push_back(ContentOf(step.archive()));
  if (step.has_file()) add_blob(step.file());
  for (const v1::FileSetEntry& file : step.files_in().files()) add_blob(file);
  return contents;
}

absl::Status CheckSha256(absl::string_view field, absl::string_view text) {
  if (text.size() == 64 && text.find_first_not_of("0123456789abcdef") == absl::string_view::npos)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": not a SHA-256 in lower-case hexadecimal"));
}

absl::Status CheckContent(const Content& content) {
  RETURN_IF_ERROR(CheckSha256("sha256", content.sha256));
  for (const std::string& url : content.urls)
    RETURN_IF_ERROR(Annotate(sys::CheckHttpUrl(url), "urls"));
  RETURN_IF_ERROR(CheckOneLine("proxy", content.proxy));
  if (content.timeout <= absl::ZeroDuration())
    return absl::InvalidArgumentError("timeout: must be above zero");
  return absl::OkStatus();
}

}  // namespace muster::agent
