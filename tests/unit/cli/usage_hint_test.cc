#include "cli/usage_hint.h"

#include <CLI/CLI.hpp>

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

TEST(UsageHint, OffersTheNearestOptionOfTheVerbAndThoseAboveIt) {
  CLI::App app("", "muster");
  bool flag = false;
  std::string text;
  app.add_option("-o,--output", text);
  CLI::App* apply = app.add_subcommand("apply");
  apply->add_flag("-y,--yes", flag);
  apply->add_option("-l,--limit", text);
  EXPECT_EQ(OptionHint(*apply, {"apply", "site.yaml", "--yse"}), " (did you mean '--yes'?)");
  EXPECT_EQ(OptionHint(*apply, {"apply", "--yes", "--limti=c001"}), " (did you mean '--limit'?)");
  EXPECT_EQ(OptionHint(*apply, {"apply", "--ouput", "json"}), " (did you mean '--output'?)");
  EXPECT_EQ(OptionHint(*apply, {"apply", "--quickly"}), "");
  EXPECT_EQ(OptionHint(*apply, {"apply", "--yes", "-q", "yse"}), "");
  EXPECT_EQ(OptionHint(*apply, {"apply", "--", "--yse"}), "");
  EXPECT_EQ(OptionHint(app, {"--yse"}), "");
}

}  // namespace
}  // namespace muster::cli
