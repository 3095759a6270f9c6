// A line for people who wait for an image to be sent or received.
#pragma once

#include "absl/time/time.h"
#include "cli/image/image_folder.h"
#include "cli/watch/terminal.h"

namespace muster::cli {

struct Context;

// Redraws one line on a terminal; for a pipe, and with -o json, it is silent. One thread.
class TransferProgress {
 public:
  // `context` must outlive the object.
  explicit TransferProgress(const Context& context);
  ~TransferProgress();  // clears the line
  TransferProgress(const TransferProgress&) = delete;

  // Refers to this object.
  OnTransfer callback();

 private:
  void Show(const TransferStep& step);

  const Context& context_;
  Terminal terminal_;
  absl::Time drawn_at_ = absl::InfinitePast();
  bool is_drawn_ = false;
};

}  // namespace muster::cli
