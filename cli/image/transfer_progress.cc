#include "cli/image/transfer_progress.h"

#include "cli/context.h"
#include "cli/render/report/image_report.h"
#include "cli/render/shorten.h"
#include "common/base/clock.h"

namespace muster::cli {
namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(200);

}  // namespace

TransferProgress::TransferProgress(const Context& context) : context_(context) {}

TransferProgress::~TransferProgress() {
  if (is_drawn_) terminal_.Redraw({});
}

OnTransfer TransferProgress::callback() {
  return [this](const TransferStep& step) { Show(step); };
}

void TransferProgress::Show(const TransferStep& step) {
  if (context_.output != OutputFormat::kTable || !terminal_.interactive()) return;
  const absl::Time now = context_.clock->Now();
  if (now < drawn_at_ + kRedraw) return;
  drawn_at_ = now;
  is_drawn_ = true;
  terminal_.Redraw({Shorten(RenderTransfer(step.what, step.artifact, step.done, step.total),
                            static_cast<size_t>(terminal_.size().columns))});
}

}  // namespace muster::cli
