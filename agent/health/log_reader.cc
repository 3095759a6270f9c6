#include "agent/health/log_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/process/process_output.h"

namespace muster::agent::health {
namespace {

// The kernel's longest record is 8 KiB (CONSOLE_EXT_LOG_MAX).
constexpr size_t kBuffer = size_t{16} << 10;
constexpr absl::Duration kLook = absl::Seconds(30);
constexpr absl::Duration kReopen = absl::Seconds(1);
// A pause of this length after so many records in a row.
constexpr int kBurst = 2000;
constexpr absl::Duration kPause = absl::Milliseconds(10);

}  // namespace

LogReader::LogReader(std::string path, LogPosition position,
                     std::function<void(const LogRecord&)> take)
    : path_(std::move(path)),
      take_(std::move(take)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      position_(position) {}

LogReader::~LogReader() { Stop(); }

void LogReader::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void LogReader::Stop() {
  const uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof one) < 0) return;
  if (thread_.joinable()) thread_.join();
}

LogReader::State LogReader::state() const {
  absl::MutexLock lock(&mutex_);
  return {.status = status_, .rounds = rounds_, .lost = position_.lost(), .malformed = malformed_};
}

void LogReader::Note(absl::Status status) {
  absl::MutexLock lock(&mutex_);
  status_ = std::move(status);
  ++rounds_;
}

bool LogReader::Wait(int fd, absl::Duration duration) {
  pollfd polled[] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                     {.fd = fd, .events = POLLIN, .revents = 0}};
  ::poll(polled, 2, static_cast<int>(absl::ToInt64Milliseconds(duration)));
  return (polled[0].revents & POLLIN) == 0;
}

void LogReader::Take(absl::string_view line) {
  const std::optional<LogRecord> record = ParseLogRecord(line);
  {
    absl::MutexLock lock(&mutex_);
    if (!record.has_value()) {
      // Blanks begin the lines that say more about the record before.
      if (!line.empty() && line.front() != ' ') ++malformed_;
      return;
    }
    if (!position_.Take(record->sequence)) return;
  }
  take_(*record);
}

absl::Status LogReader::ReadAll(int fd) {
  std::vector<char> buffer(kBuffer);
  sys::LineSplitter lines([this](absl::string_view line) { Take(line); });
  for (int in_a_row = 0;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got > 0) {
      lines.Append(absl::string_view(buffer.data(), static_cast<size_t>(got)));
      if (++in_a_row % kBurst != 0) continue;
      Note(absl::OkStatus());
      if (!Wait(-1, kPause)) return absl::OkStatus();
      continue;
    }
    if (got == 0) return absl::OkStatus();
    // Records were dropped: their numbers will be missing.
    if (errno == EPIPE || errno == EINTR) continue;
    if (errno != EAGAIN) return ErrnoStatus(errno, absl::StrCat("reading ", path_));
    in_a_row = 0;
    Note(absl::OkStatus());
    if (!Wait(fd, kLook)) return absl::OkStatus();
  }
}

void LogReader::Loop() {
  do {
    const sys::UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    if (!fd.valid()) {
      Note(ErrnoStatus(errno, absl::StrCat("opening ", path_)));
      continue;
    }
    Note(absl::OkStatus());
    Note(ReadAll(fd.get()));
  } while (Wait(-1, kReopen));
}

}  // namespace muster::agent::health
