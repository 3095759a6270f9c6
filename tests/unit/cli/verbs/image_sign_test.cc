#include <CLI/CLI.hpp>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/context.h"
#include "cli/image/build_tools.h"
#include "cli/verbs/verbs.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

TEST(ImageKeys, PrintsOneValueForPrograms) {
  if (!CheckSigningTools().ok()) GTEST_SKIP() << "programs that sign are missing";
  const testing::TempDir temp;
  const std::string folder = temp.path() + "/keys";
  CLI::App app("", "muster");
  Context context;
  context.output = OutputFormat::kJson;
  AddImageSign(app, context);
  ::testing::internal::CaptureStdout();
  app.parse("muster keys " + folder, /*program_name_included=*/true);
  const auto printed = nlohmann::json::parse(::testing::internal::GetCapturedStdout());
  EXPECT_EQ(context.exit_code, kExitClean);
  EXPECT_EQ(printed.at("folder"), folder);
  EXPECT_EQ(printed.at("lines").at(0), folder + "/PK.key is new");
}

}  // namespace
}  // namespace muster::cli
