#include "agent/transfer/downloader.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/backoff.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/http/http_text.h"
#include "common/sys/large_file.h"

namespace muster::agent {
namespace {

// How often a url may turn out to have changed midway before it is given up.
constexpr int kMaxRestarts = 3;

// "x.tar.gz" from a url, for progress.
std::string NameOf(const std::string& url) {
  const std::string shown = sys::DescribeUrl(url);
  const size_t slash = shown.find_last_of('/');
  return slash + 1 < shown.size() ? shown.substr(slash + 1) : shown;
}

absl::Status CheckSpace(const std::string& path, uint64_t needed) {
  std::error_code error;
  const std::string folder = path.substr(0, path.rfind('/'));
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || needed <= space.available) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(needed >> 20, " MiB are needed, ", space.available >> 20,
                   " MiB are free; free some (df ", folder, ") and run again"));
}

// Errors that no other url could avoid.
bool EndsAll(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsResourceExhausted(status) ||
         absl::IsDeadlineExceeded(status);
}

}  // namespace

// All attempts at one url.
class Downloader::Attempt {
 public:
  Attempt(Downloader& owner, const Content& content, const std::string& url, PartialFile& partial,
          absl::Time deadline, const TransferHooks& hooks)
      : owner_(owner),
        content_(content),
        url_(url),
        source_(Sha256Hex(url)),
        partial_(partial),
        deadline_(deadline),
        hooks_(hooks),
        meter_(absl::StrCat("downloading ", NameOf(url)), hooks, owner.clock_) {}

  absl::Status Run();

 private:
  // Makes one request; OK: the file has the right digest.
  absl::Status Once();
  absl::Status Verify();
  absl::Status Continue();

  Downloader& owner_;
  const Content& content_;
  const std::string& url_;
  const std::string source_;
  PartialFile& partial_;
  const absl::Time deadline_;
  const TransferHooks& hooks_;
  ProgressMeter meter_;
  absl::BitGen random_;
  Backoff backoff_{owner_.options_.first_backoff, owner_.options_.longest_backoff, random_};
  bool joined_ = false;  // the file consists of several requests' bytes
};

absl::Status Downloader::Attempt::Verify() {
  hooks_.on_activity(absl::StrCat("verifying ", NameOf(url_)), std::nullopt);
  ASSIGN_OR_RETURN(const std::string digest,
                   sys::Sha256OfFile(partial_.path(), /*sync=*/true, hooks_.cancelled));
  if (digest == content_.sha256) return partial_.RemoveRecord();
  RETURN_IF_ERROR(partial_.Remove());
  if (joined_)
    return absl::AbortedError(absl::StrCat(
        sys::DescribeUrl(url_), ": the parts that were fetched at different times do not match"));
  return absl::DataLossError(absl::StrCat(sys::DescribeUrl(url_), ": the file has sha256 ", digest,
                                          ", expected ", content_.sha256,
                                          "; check which of the two is right"));
}

absl::Status Downloader::Attempt::Continue() {
  const std::optional<Partial> known = partial_.Read();
  ASSIGN_OR_RETURN(const uint64_t have, partial_.Size());
  joined_ = have > 0;
  // A crash may have happened between the last byte and the check of the digest.
  if (have > 0 && known->total == have) return Verify();
  sys::HttpDownload download = {.url = url_, .path = partial_.path(), .offset = have};
  // Another mirror's tags mean nothing to this one; the digest decides.
  if (have > 0 && known->source == source_) download.validator = known->validator;
  download.proxy = content_.proxy;
  download.connect_timeout = owner_.options_.connect_timeout;
  download.stall_timeout = owner_.options_.stall_timeout;
  download.timeout = deadline_ - owner_.clock_.Now();
  download.cancelled = hooks_.cancelled;
  download.on_content = [this](const sys::HttpContent& answer) -> absl::Status {
    joined_ = answer.offset > 0;
    if (answer.total.has_value())
      RETURN_IF_ERROR(CheckSpace(partial_.path(), *answer.total - answer.offset));
    return partial_.Write(
        {.source = source_, .validator = answer.validator, .total = answer.total});
  };
  download.on_progress = [this](uint64_t bytes, std::optional<uint64_t> total) {
    meter_.Show(bytes, total);
  };
  RETURN_IF_ERROR(owner_.http_.Fetch(download));
  return Verify();
}

absl::Status Downloader::Attempt::Once() {
  const absl::Status status = Continue();
  if (absl::IsAborted(status)) RETURN_IF_ERROR(partial_.Remove());
  return status;
}

absl::Status Downloader::Attempt::Run() {
  uint32_t failures = 0;
  int restarts = 0;
  while (true) {
    ASSIGN_OR_RETURN(const uint64_t before, partial_.Size());
    const absl::Status status = Once();
    if (absl::IsAborted(status)) {
      if (++restarts > kMaxRestarts)
        return absl::DataLossError(
            absl::StrCat(status.message(), "; it was fetched again ", kMaxRestarts, " times"));
    } else if (absl::IsUnavailable(status)) {
      // Do not give up because of a connection that breaks now and then, as long as bytes arrive.
      ASSIGN_OR_RETURN(const uint64_t after, partial_.Size());
      if (after > before) {
        failures = 0;
        backoff_.Reset();
      }
      if (++failures >= content_.attempts) return status;
    } else {
      return status;
    }
    hooks_.on_activity(absl::StrCat("waiting to retry: ", status.message()), std::nullopt);
    if (!WaitUnlessCancelled(owner_.clock_, backoff_.Next(), deadline_, hooks_)) {
      if (hooks_.cancelled()) return absl::CancelledError("the download was stopped");
      return absl::DeadlineExceededError(absl::StrCat("not finished within ",
                                                      absl::FormatDuration(content_.timeout),
                                                      "; last: ", status.message()));
    }
  }
}

absl::Status Downloader::Fetch(const Content& content, const std::string& path,
                               const TransferHooks& hooks) {
  const absl::Time deadline = clock_.Now() + content.timeout;
  PartialFile partial(path, files_);
  std::vector<std::string> troubles;
  absl::Status last = absl::InvalidArgumentError("no url is set");
  for (const std::string& url : content.urls) {
    last = Attempt(*this, content, url, partial, deadline, hooks).Run();
    if (last.ok() || EndsAll(last)) break;
    troubles.emplace_back(last.message());
  }
  if (last.ok()) return last;
  if (EndsAll(last)) troubles.emplace_back(last.message());
  return absl::Status(last.code(), absl::StrJoin(troubles, "; "));
}

}  // namespace muster::agent
