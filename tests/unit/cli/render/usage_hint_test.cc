#include "cli/render/usage_hint.h"

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

class UnknownCommandTest : public ::testing::Test {
 protected:
  UnknownCommandTest() : app_("", "muster") {
    app_.require_subcommand(1);
    app_.add_option("-o,--output", text_);
    app_.add_flag("--version", flag_);
    app_.add_subcommand("node");
    CLI::App* run = app_.add_subcommand("run");
    run->require_subcommand(1);
    run->add_subcommand("watch");
    CLI::App* validate = app_.add_subcommand("validate");
    validate->add_option("nodes", text_);
    validate->add_subcommand("list");
  }
  CLI::App app_;
  bool flag_ = false;
  std::string text_;
};

TEST_F(UnknownCommandTest, IsNamedAlsoBehindOptions) {
  const std::string nope = "unknown command 'nope' (did you mean 'node'?); see muster --help";
  EXPECT_EQ(UnknownCommand(app_, {"nope"}), nope);
  EXPECT_EQ(UnknownCommand(app_, {"-o", "json", "nope"}), nope);
  EXPECT_EQ(UnknownCommand(app_, {"--output=json", "nope"}), nope);
  EXPECT_EQ(UnknownCommand(app_, {"-ojson", "nope"}), nope);
  EXPECT_EQ(UnknownCommand(app_, {"--version", "nope"}), nope);
  EXPECT_EQ(UnknownCommand(app_, {"run", "-o", "json", "wathc"}),
            "unknown command 'wathc' (did you mean 'watch'?); see muster run --help");
}

TEST_F(UnknownCommandTest, IsNotWhatAnArgumentIsTakenFor) {
  EXPECT_EQ(UnknownCommand(app_, {"validate", "c[001-003]", "--suit", "quick"}), "");
  EXPECT_EQ(UnknownCommand(app_, {"--nope", "node"}), "");
  EXPECT_EQ(UnknownCommand(app_, {"-o", "json"}), "");
  EXPECT_EQ(UnknownCommand(app_, {"run"}), "");
}

}  // namespace
}  // namespace muster::cli
