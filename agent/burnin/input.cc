#include "agent/burnin/input.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/burnin/input_line.h"

namespace muster::burnin {
namespace {

void TakeLine(absl::string_view line, WorkerReporter& reporter) {
  if (absl::StripAsciiWhitespace(line).empty()) return;
  absl::StatusOr<InputLine> input = ParseInputLine(line);
  if (!input.ok()) {
    reporter.Stop(absl::StrCat("standard input: ", input.status().message()));
  } else if (!input->stop.empty()) {
    reporter.Stop(input->stop);
  } else {
    reporter.SetPeers(std::move(input->peers));
  }
}

void ReadInput(int fd, bool stop_at_end, WorkerReporter& reporter) {
  std::string buffer;
  char piece[4096];
  for (;;) {
    const ssize_t count = read(fd, piece, sizeof(piece));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    buffer.append(piece, static_cast<size_t>(count));
    for (size_t end; (end = buffer.find('\n')) != std::string::npos; buffer.erase(0, end + 1))
      TakeLine(absl::string_view(buffer).substr(0, end), reporter);
    if (buffer.size() > kMaxInputLine) {
      reporter.Stop("standard input: a line is too long");
      return;
    }
  }
  if (stop_at_end) reporter.Stop("the caller of this check has gone: standard input was closed");
}

}  // namespace

void StartReadingInput(int fd, bool stop_at_end, WorkerReporter& reporter) {
  std::thread(ReadInput, fd, stop_at_end, std::ref(reporter)).detach();
}

}  // namespace muster::burnin
