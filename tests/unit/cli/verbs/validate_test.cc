#include <CLI/CLI.hpp>
#include <string>

#include <gtest/gtest.h>

#include "cli/context.h"
#include "cli/verbs/verbs.h"

namespace muster::cli {
namespace {

// Without a suite, so that it connects to nobody.
void Parse(const std::string& arguments) {
  CLI::App app("", "muster");
  Context context;
  AddValidate(app, context);
  app.parse("muster validate c001 " + arguments, /*program_name_included=*/true);
}

TEST(Validate, WatchesByDefaultAndWhenItIsAskedTo) {
  EXPECT_NO_THROW(Parse(""));
  EXPECT_NO_THROW(Parse("--watch"));
  EXPECT_NO_THROW(Parse("--detach"));
  EXPECT_THROW(Parse("--watch --detach"), CLI::ExcludesError);
  EXPECT_THROW(Parse("--wait"), CLI::ParseError);
}

}  // namespace
}  // namespace muster::cli
