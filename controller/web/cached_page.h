// What all who look at the page see, made once for all of them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/web/cached.h"

namespace muster::controller {

struct RenderedPage {
  std::string text;
  std::string gzip;  // the same, compressed
  std::string etag;  // of the text: "\"5f0c…\""
};

// The page of a text.
RenderedPage Render(std::string text);
// In gzip's format.
std::string Gzip(absl::string_view text);

// A page whose text is made at most twice a second, see Cached. Thread-safe.
class CachedPage {
 public:
  static constexpr absl::Duration kOldest = absl::Milliseconds(500);

  using Make = std::function<absl::StatusOr<std::string>()>;

  // As for Cached.
  CachedPage(
      Clock& clock, Make make, std::function<void()> prepare = [] {});

  // Never nullptr; the same page while the text is the same. An error of `make` is not kept.
  absl::StatusOr<std::shared_ptr<const RenderedPage>> Get() { return page_.Get(); }

 private:
  Cached<RenderedPage> page_;
};

}  // namespace muster::controller
