#include "controller/enrollment/refusal_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::controller {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

const absl::Time kRefusalNow = absl::FromUnixSeconds(1'900'000'000);

TEST(RefusalLog, AnAddressHasOneEntryAnHour) {
  RefusalLog log;
  EXPECT_THAT(log.Note("ipv4:10.0.0.1:1", kRefusalNow), Optional(std::string()));
  for (int i = 2; i < 1000; ++i)
    EXPECT_EQ(log.Note(absl::StrCat("ipv4:10.0.0.1:", i), kRefusalNow + absl::Seconds(i)),
              std::nullopt);
  EXPECT_THAT(log.Note("ipv4:10.0.0.2:1", kRefusalNow), Optional(std::string()));
  EXPECT_THAT(log.Note("ipv4:10.0.0.3:1", kRefusalNow + RefusalLog::kInterval),
              Optional(AllOf(HasSubstr("998 more refusals since 2030-03-17 17:46 UTC"),
                             HasSubstr("998 of them of 10.0.0.1"))));
  EXPECT_THAT(log.Note("ipv4:10.0.0.1:1", kRefusalNow + RefusalLog::kInterval),
              Optional(std::string()));
}

TEST(RefusalLog, AClockThatWasSetBackBeginsAnotherHour) {
  RefusalLog log;
  EXPECT_TRUE(log.Note("ipv4:10.0.0.1:1", kRefusalNow).has_value());
  const absl::Time before = kRefusalNow - absl::Hours(24 * 400);
  EXPECT_TRUE(log.Note("ipv4:10.0.0.1:1", before).has_value());
  EXPECT_FALSE(log.Note("ipv4:10.0.0.1:1", before + absl::Minutes(59)).has_value());
  EXPECT_TRUE(log.Note("ipv4:10.0.0.1:1", before + RefusalLog::kInterval).has_value());
}

TEST(RefusalLog, ACrowdHasAHundredEntriesAnHour) {
  RefusalLog log;
  size_t entries = 0;
  for (int i = 0; i < 70'000; ++i)
    entries +=
        log.Note(absl::StrCat("ipv6:[2001:db8:", absl::Hex(i % 65'536), "::1]:1"), kRefusalNow)
            .has_value();
  EXPECT_EQ(entries, RefusalLog::kMaxEntries);
  EXPECT_THAT(
      log.Note("ipv4:10.0.0.3:1", kRefusalNow + RefusalLog::kInterval),
      Optional(HasSubstr(absl::StrCat(70'000 - RefusalLog::kMaxEntries, " more refusals"))));
}

}  // namespace
}  // namespace muster::controller
