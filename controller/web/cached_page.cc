#include "controller/web/cached_page.h"

#include <utility>

#include <zlib.h>

#include "absl/strings/str_cat.h"
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

CachedPage::CachedPage(Clock& clock, Make make, std::function<void()> prepare)
    : page_(
          clock, kOldest,
          [make = std::move(make)](std::shared_ptr<const RenderedPage> before)
              -> absl::StatusOr<std::shared_ptr<const RenderedPage>> {
            ASSIGN_OR_RETURN(std::string text, make());
            if (before != nullptr && before->text == text) return before;
            return std::make_shared<const RenderedPage>(Render(std::move(text)));
          },
          std::move(prepare)) {}

}  // namespace muster::controller
