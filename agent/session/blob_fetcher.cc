#include "agent/session/blob_fetcher.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_error.h"
#include "common/sys/place.h"
#include "common/sys/unique_fd.h"
#include "muster/v1/agent_session.grpc.pb.h"

namespace muster::agent {
namespace {

// After this long without progress a step gives up; the agent itself keeps trying to connect.
constexpr absl::Duration kPatience = absl::Minutes(10);
constexpr absl::Duration kFetchTimeout = absl::Minutes(5);

// The file of a blob, which is written by appending.
class GrowingFile {
 public:
  static absl::StatusOr<GrowingFile> Open(const std::string& path) {
    GrowingFile file;
    file.path_ = path;
    ASSIGN_OR_RETURN(file.fd_, sys::OpenFile(path, O_WRONLY | O_CREAT | O_APPEND,
                                             sys::LastLink::kRefuse, "opening"));
    struct stat info = {};
    if (::fstat(file.fd_.get(), &info) != 0) return sys::FileError(errno, "opening", path);
    file.size_ = static_cast<uint64_t>(info.st_size);
    return file;
  }
  absl::Status Append(absl::string_view data) {
    while (!data.empty()) {
      const ssize_t written = ::write(fd_.get(), data.data(), data.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return sys::FileError(errno, "writing", path_);
      data.remove_prefix(static_cast<size_t>(written));
      size_ += static_cast<uint64_t>(written);
    }
    return absl::OkStatus();
  }
  uint64_t size() const { return size_; }

 private:
  std::string path_;
  sys::UniqueFd fd_;
  uint64_t size_ = 0;
};

// Makes one call that continues at the end of the file.
absl::Status FetchOnce(const std::shared_ptr<grpc::Channel>& channel, const std::string& sha256,
                       uint64_t size, absl::Time deadline, GrowingFile& file, ProgressMeter& meter,
                       const TransferHooks& hooks) {
  if (channel == nullptr) return absl::UnavailableError("no connection to the controller");
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  v1::FetchBlobRequest request;
  request.set_sha256(sha256);
  request.set_offset(file.size());
  const auto stub = v1::AgentSessionService::NewStub(channel);
  const auto reader = stub->FetchBlob(&context, request);
  absl::Status ours;
  v1::FetchBlobResponse part;
  while (ours.ok() && reader->Read(&part)) {
    if (part.data().size() > size - file.size()) {
      ours = absl::DataLossError("the controller sent more than the plan announced");
    } else if (hooks.cancelled()) {
      ours = absl::CancelledError("the transfer was stopped");
    } else {
      ours = file.Append(part.data());
    }
    meter.Show(file.size(), size);
  }
  if (!ours.ok()) {
    context.TryCancel();
    while (reader->Read(&part)) {
    }
    (void)reader->Finish();
    return ours;
  }
  const absl::Status status = FromGrpc(reader->Finish());
  // If somebody else ended a call, it is worth another try.
  if (absl::IsCancelled(status)) return absl::UnavailableError(status.message());
  RETURN_IF_ERROR(status);
  if (file.size() < size) return absl::UnavailableError("the blob ended early");
  return absl::OkStatus();
}

}  // namespace

absl::Status BlobFetcher::Fetch(const std::string& sha256, uint64_t size, const std::string& path,
                                const TransferHooks& hooks) {
  ASSIGN_OR_RETURN(GrowingFile file, GrowingFile::Open(path));
  ProgressMeter meter("fetching from the controller", hooks, clock_);
  absl::BitGen random;
  Backoff backoff(absl::Seconds(1), absl::Seconds(10), random);
  absl::Time give_up = clock_.Now() + kPatience;
  while (file.size() < size) {
    const uint64_t before = file.size();
    const absl::Status status =
        FetchOnce(channel_.Get(), sha256, size, clock_.Now() + kFetchTimeout, file, meter, hooks);
    if (status.ok()) break;
    const bool passing = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
    if (file.size() > before) give_up = clock_.Now() + kPatience;
    if (!passing || !WaitUnlessCancelled(clock_, backoff.Next(), give_up, hooks)) {
      if (hooks.cancelled()) return absl::CancelledError("the transfer was stopped");
      return Annotate(status, absl::StrCat("fetching blob ", sha256));
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
