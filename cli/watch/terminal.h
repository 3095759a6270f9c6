// A terminal whose last lines are redrawn in place, and Ctrl-C as a flag that can be queried.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/render/run/run_screen.h"

namespace muster::cli {

// Writes to standard output. One thread.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // False for a pipe or a file, where nothing can be redrawn.
  bool interactive() const { return interactive_; }
  ScreenSize size() const;

  // Replaces the lines that the last call drew.
  void Redraw(const std::vector<std::string>& lines);
  // Prints above the redrawn lines; the caller draws those again.
  void Print(absl::string_view text);

 private:
  const bool interactive_;
  int drawn_ = 0;
};

// While it lives, Ctrl-C sets a flag instead of ending the program; a second one ends it.
class InterruptFlag {
 public:
  // How long a loop may be without a look at it.
  static constexpr absl::Duration kInterval = absl::Milliseconds(200);

  InterruptFlag();
  ~InterruptFlag();
  InterruptFlag(const InterruptFlag&) = delete;
  InterruptFlag& operator=(const InterruptFlag&) = delete;
  static bool IsSet();
};

// Asks a question with the answers y and n; anything but y is no. REQUIRES: a terminal.
bool Confirm(const std::string& question);
// Whether standard input is a terminal.
bool CanAsk();
// Asks. FailedPrecondition: there is no terminal to ask on. Cancelled, with `otherwise`: the answer
// is no.
absl::Status AskOrRefuse(const std::string& question, absl::string_view otherwise);
// FailedPrecondition, ending with `hint`: nobody could be asked before nodes are changed. For
// commands that do much before they come to the question.
absl::Status RequireTerminal(absl::string_view hint);

}  // namespace muster::cli
