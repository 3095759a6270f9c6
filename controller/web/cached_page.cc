#include "controller/web/cached_page.h"

#include <algorithm>

#include <zlib.h>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status.h"

namespace muster::controller {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's words for gzip's format
constexpr int kMemoryLevel = 8;
constexpr size_t kEtagDigits = 32;

}  // namespace

std::string Gzip(absl::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool is_whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(is_whole ? stream.total_out : 0);
  deflateEnd(&stream);
  return packed;
}

RenderedPage Render(std::string text) {
  RenderedPage page;
  page.gzip = Gzip(text);
  page.etag = absl::StrCat("\"", Sha256Hex(text).substr(0, kEtagDigits), "\"");
  page.text = std::move(text);
  return page;
}

absl::StatusOr<std::shared_ptr<const RenderedPage>> CachedPage::Get() {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = clock_.Now();
  if (page_ != nullptr && now >= made_at_ && now < good_until_) return page_;
  ASSIGN_OR_RETURN(std::string text, make_());
  if (page_ == nullptr || page_->text != text)
    page_ = std::make_shared<const RenderedPage>(Render(std::move(text)));
  made_at_ = clock_.Now();
  good_until_ = made_at_ + std::max(kOldest, kPauses * (made_at_ - now));
  return page_;
}

}  // namespace muster::controller
