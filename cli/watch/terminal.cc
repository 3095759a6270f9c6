#include "cli/watch/terminal.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

#include "absl/strings/str_cat.h"
#include "cli/render/plain_text.h"

namespace muster::cli {
namespace {

volatile sig_atomic_t interrupted = 0;
struct sigaction previous_action;

void OnInterrupt(int) {
  // The second Ctrl-C is meant: the default action ends the program.
  if (interrupted != 0) {
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
  }
  interrupted = 1;
}

}  // namespace

Terminal::Terminal() : interactive_(isatty(STDOUT_FILENO) == 1) {}

Terminal::~Terminal() { fflush(stdout); }

ScreenSize Terminal::size() const {
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0)
    return {};
  return {window.ws_col, window.ws_row};
}

void Terminal::Redraw(const std::vector<std::string>& lines) {
  if (!interactive_) return;
  std::string out;
  if (drawn_ > 0) absl::StrAppend(&out, "\033[", drawn_, "A");  // up to the first drawn line
  for (const std::string& line : lines) absl::StrAppend(&out, "\r\033[2K", line, "\n");
  absl::StrAppend(&out, "\033[J");  // clear the rest of a taller drawing
  fwrite(out.data(), 1, out.size(), stdout);
  fflush(stdout);
  drawn_ = static_cast<int>(lines.size());
}

void Terminal::Print(absl::string_view text) {
  if (text.empty()) return;
  if (drawn_ > 0) printf("\033[%dA\r\033[J", drawn_);
  drawn_ = 0;
  fwrite(text.data(), 1, text.size(), stdout);
  fflush(stdout);
}

InterruptFlag::InterruptFlag() {
  interrupted = 0;
  struct sigaction action {};
  action.sa_handler = OnInterrupt;
  sigaction(SIGINT, &action, &previous_action);
}

InterruptFlag::~InterruptFlag() { sigaction(SIGINT, &previous_action, nullptr); }

bool InterruptFlag::IsSet() { return interrupted != 0; }

bool Confirm(const std::string& question) {
  // Standard output may be a file, or JSON.
  std::cerr << Tame(question) << " [y/N] " << std::flush;
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

bool CanAsk() { return isatty(STDIN_FILENO) == 1; }

absl::Status AskOrRefuse(const std::string& question, absl::string_view otherwise) {
  if (!CanAsk()) {
    return absl::FailedPreconditionError(
        absl::StrCat(question, " There is no terminal to ask on; pass --yes (", otherwise, ")"));
  }
  return Confirm(question) ? absl::OkStatus() : absl::CancelledError(otherwise);
}

absl::Status RequireTerminal(absl::string_view hint) {
  if (CanAsk()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this command changes nodes and there is no terminal to ask on; pass --yes, or ", hint));
}

}  // namespace muster::cli
