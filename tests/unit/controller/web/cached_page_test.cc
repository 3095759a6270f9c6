#include "controller/web/cached_page.h"

#include <zlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::FakeClock;

std::string Gunzip(const std::string& packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string text(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

TEST(CachedPage, IsMadeOnceForAllThatLook) {
  FakeClock clock;
  int made = 0;
  CachedPage page(clock, [&]() -> absl::StatusOr<std::string> {
    ++made;
    return "the same";
  });
  const auto first = page.Get();
  ASSERT_OK(first);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(page.Get()->get(), first->get());
  EXPECT_EQ(made, 1);
  clock.Advance(CachedPage::kOldest);
  EXPECT_EQ(page.Get()->get(), first->get());  // the text has not changed
  EXPECT_EQ(made, 2);
}

TEST(CachedPage, TakesATenthOfTheTimeAtMost) {
  FakeClock clock;
  int made = 0;
  CachedPage page(clock, [&]() -> absl::StatusOr<std::string> {
    clock.Advance(absl::Seconds(1));
    return std::string(++made, 'x');
  });
  ASSERT_OK(page.Get());
  clock.Advance(absl::Seconds(8.9));
  ASSERT_OK(page.Get());
  EXPECT_EQ(made, 1);
  clock.Advance(absl::Seconds(0.2));
  ASSERT_OK(page.Get());
  EXPECT_EQ(made, 2);
}

TEST(CachedPage, DoesNotCountWhatItIsMadeFrom) {
  FakeClock clock;
  int made = 0, prepared = 0;
  CachedPage page(
      clock, [&]() -> absl::StatusOr<std::string> { return std::string(++made, 'x'); },
      [&] {
        ++prepared;
        clock.Advance(absl::Seconds(1));
      });
  ASSERT_OK(page.Get());
  ASSERT_OK(page.Get());
  EXPECT_EQ(prepared, 1);
  clock.Advance(CachedPage::kOldest);
  ASSERT_OK(page.Get());
  EXPECT_EQ(made, 2);
  EXPECT_EQ(prepared, 2);
}

TEST(CachedPage, AnErrorIsNotKept) {
  FakeClock clock;
  bool fails = true;
  CachedPage page(clock, [&]() -> absl::StatusOr<std::string> {
    if (fails) return absl::UnavailableError("no");
    return "yes";
  });
  EXPECT_TRUE(absl::IsUnavailable(page.Get().status()));
  fails = false;
  EXPECT_OK(page.Get());
}

TEST(CachedPage, AClockThatJumpsBackStopsNothing) {
  FakeClock clock;
  int made = 0;
  CachedPage page(clock, [&]() -> absl::StatusOr<std::string> { return std::string(++made, 'x'); });
  ASSERT_OK(page.Get());
  clock.Advance(-absl::Hours(5));
  EXPECT_EQ((*page.Get())->text, "xx");
}

TEST(Render, SaysTheSameCompressed) {
  const std::string text = std::string(5000, 'a') + "ü" + std::string(1, '\0') + "b";
  const RenderedPage page = Render(text);
  EXPECT_EQ(Gunzip(page.gzip), text);
  EXPECT_LT(page.gzip.size(), 100u);
  EXPECT_EQ(page.etag.size(), 34u);
  EXPECT_NE(Render("other").etag, page.etag);
  EXPECT_EQ(Gunzip(Gzip("")), "");
}

}  // namespace
}  // namespace muster::controller
