#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/context.h"
#include "cli/verbs/verbs.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

// The name becomes that of the inventory, which is a DNS label.
TEST(Init, RefusesAClusterThatNoInventoryCanHave) {
  const testing::TempDir temp;
  for (const char* cluster : {"hpc-", "-hpc", "Hpc", "hpc_1", "1hpc"}) {
    SCOPED_TRACE(cluster);
    const std::string folder = temp.path() + "/muster";
    testing::FakeClock clock;
    CLI::App app("", "muster");
    Context context;
    context.clock = &clock;
    AddInit(app, context);
    ::testing::internal::CaptureStderr();
    app.parse("muster init --cluster=" + std::string(cluster) +
                  " --controller login1 --directory " + folder,
              /*program_name_included=*/true);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("--cluster"));
    EXPECT_NE(context.exit_code, kExitClean);
    EXPECT_FALSE(std::filesystem::exists(folder));
  }
}

}  // namespace
}  // namespace muster::cli
