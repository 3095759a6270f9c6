#include <CLI/CLI.hpp>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/context.h"
#include "cli/verbs/verbs.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

// The error about a missing folder names the option, so each of them has it.
TEST(Hardware, EverySubcommandTakesTheSiteThatItsErrorNames) {
  const testing::TempDir empty;
  for (const std::string words : {"list", "show h100", "lint", "learn"}) {
    CLI::App app("", "muster");
    Context context;
    AddHardware(app, context);
    ::testing::internal::CaptureStderr();
    EXPECT_NO_THROW(app.parse("muster hardware " + words + " --site " + empty.path(),
                              /*program_name_included=*/true))
        << words;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::HasSubstr("pass the folder that contains it with --site"))
        << words;
    EXPECT_EQ(context.exit_code, kExitError) << words;
  }
}

}  // namespace
}  // namespace muster::cli
