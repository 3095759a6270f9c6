#include "agent/session/blob_fetcher.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "absl/random/random.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "muster/v1/agent_session.grpc.pb.h"

namespace muster::agent {
namespace {

// Without progress for so long a step gives up; the agent itself goes on trying to connect.
constexpr absl::Duration kPatience = absl::Minutes(10);
constexpr absl::Duration kCallTimeout = absl::Minutes(5);

bool IsDigest(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

BlobFetcher::BlobFetcher(Paths paths, CurrentChannel& channel, sys::FileSystem& files,
                         Clock& clock, std::function<bool()> stopping)
    : paths_(std::move(paths)),
      channel_(channel),
      files_(files),
      clock_(clock),
      stopping_(std::move(stopping)) {}

absl::StatusOr<std::string> BlobFetcher::Get(const std::string& sha256, uint64_t size) {
  if (!IsDigest(sha256)) {
    return absl::InvalidArgumentError(absl::StrCat("'", sha256, "' is not a SHA-256"));
  }
  if (size > sys::kMaxReadBytes) {
    return absl::InvalidArgumentError(absl::StrCat("blob ", sha256, " of ", size,
                                                   " bytes is above the limit of ",
                                                   sys::kMaxReadBytes));
  }
  const std::string path = absl::StrCat(paths_.BlobDirectory(), "/", sha256);
  absl::StatusOr<std::string> stored = files_.Read(path);
  // One that has decayed on the disk is fetched again.
  if (stored.ok() && Sha256Hex(*stored) == sha256) return stored;
  ASSIGN_OR_RETURN(std::string data, Fetch(sha256, size));
  sys::WriteOptions options;
  options.mode = 0600;
  RETURN_IF_ERROR(files_.WriteAtomically(path, data, options));
  DropOldest();
  return data;
}

absl::StatusOr<std::string> BlobFetcher::Fetch(const std::string& sha256, uint64_t size) {
  absl::BitGen random;
  Backoff backoff(absl::Seconds(1), absl::Seconds(10), random);
  std::string data;
  absl::Time give_up = clock_.Now() + kPatience;
  for (;;) {
    const size_t before = data.size();
    const absl::Status status = FetchOnce(sha256, size, data);
    if (status.ok()) {
      if (Sha256Hex(data) == sha256) return data;
      return absl::DataLossError(
          absl::StrCat("the controller sent a blob that does not match its digest ", sha256));
    }
    const bool passing = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
                         absl::IsCancelled(status);
    if (data.size() > before) give_up = clock_.Now() + kPatience;
    if (!passing || stopping_() || clock_.Now() >= give_up) {
      return Annotate(status, absl::StrCat("fetching blob ", sha256));
    }
    clock_.Sleep(backoff.Next());
  }
}

absl::Status BlobFetcher::FetchOnce(const std::string& sha256, uint64_t size, std::string& data) {
  const std::shared_ptr<grpc::Channel> channel = channel_.Get();
  if (channel == nullptr) return absl::UnavailableError("no connection to the controller");
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(clock_.Now() + kCallTimeout));
  v1::FetchBlobRequest request;
  request.set_sha256(sha256);
  request.set_offset(data.size());
  const auto stub = v1::AgentSessionService::NewStub(channel);
  const auto reader = stub->FetchBlob(&context, request);
  v1::FetchBlobResponse part;
  while (reader->Read(&part)) {
    if (part.data().size() > size - data.size()) {
      context.TryCancel();
      while (reader->Read(&part)) {
      }
      (void)reader->Finish();
      return absl::DataLossError("the controller sent more than the plan says");
    }
    data += part.data();
  }
  RETURN_IF_ERROR(FromGrpc(reader->Finish()));
  if (data.size() < size) return absl::UnavailableError("the blob ended early");
  return absl::OkStatus();
}

void BlobFetcher::DropOldest() {
  // Housekeeping: what fails here fails again, harmlessly, with the next blob.
  const auto names = files_.List(paths_.BlobDirectory());
  if (!names.ok() || names->size() <= kKept) return;
  std::vector<std::pair<int64_t, std::string>> by_age;
  for (const std::string& name : *names) {
    std::string path = absl::StrCat(paths_.BlobDirectory(), "/", name);
    const auto stat = files_.Stat(path);
    if (stat.ok() && stat->has_value()) by_age.emplace_back((*stat)->modified_ns, std::move(path));
  }
  std::sort(by_age.begin(), by_age.end());
  for (size_t i = 0; i + kKept < by_age.size(); ++i) {
    (void)files_.Remove(by_age[i].second, /*recursive=*/false);
  }
}

}  // namespace muster::agent
