#include "cli/render/report/console_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/proto_time.h"
#include "muster/v1/power.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;

TEST(ConsoleReportTest, RowsHaveTheirTimeAndCommandNoTerminal) {
  v1::ReadConsoleResponse response;
  for (const char* text : {"BIOS 1.2", "Press \x1b[31mF2"}) {
    v1::ConsoleRow& row = *response.add_rows();
    *row.mutable_time() = ToTimestamp(absl::FromUnixSeconds(1'900'000'000 + response.rows_size()));
    row.set_text(text);
  }
  EXPECT_THAT(RenderConsole(response, absl::UTCTimeZone()), Said());
}

TEST(ConsoleReportTest, SaysHowFarTheReadingIs) {
  v1::ReadConsoleResponse response;
  EXPECT_THAT(StateOfConsole("c001", response), Said());
  response.set_trouble("somebody else reads the console");
  EXPECT_THAT(StateOfConsole("c001", response), Said());
  response.set_is_read(true);
  EXPECT_THAT(StateOfConsole("c001", response), Said());
  response.set_is_established(true);
  EXPECT_THAT(StateOfConsole("c001", response), Said());
}

}  // namespace
}  // namespace muster::cli
