#include "cli/bootstrap/join_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/sys/process/process.h"
#include "muster/v1/enrollment.pb.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::CreateTokenResponse Response() {
  v1::CreateTokenResponse response;
  response.set_ca_pin("sha256:00ff");
  response.set_controller_address("login1:7443");
  response.set_enrollment_address("login1:7444");
  v1::AgentPackage& package = *response.add_packages();
  package.set_url("http://login1:7480/packages/muster-agent_0.1.0_amd64.deb");
  package.set_sha256("abc");
  package.set_architecture("amd64");
  v1::IssuedToken& token = *response.add_tokens();
  token.set_node_name("c001");
  token.set_token("mtk-secret");
  return response;
}

// Runs both texts on a machine whose programs are stand-ins that note how they were called.
class JoinScriptTest : public ::testing::Test {
 protected:
  JoinScriptTest() : response_(Response()) {
    response_.mutable_packages(0)->set_sha256(Sha256Hex("package\n"));
    Program("dpkg", "echo amd64");
    Program("muster-agent", "cat >/dev/null; echo \"$1\" >>\"$0.calls\"");
    Program("apt-get", "echo \"$1\" >>\"$0.calls\"");
    Program("apt-helper", "for last; do :; done; echo package >\"$last\"");
  }

  std::string Path(const std::string& name) const {
    return absl::StrCat(folder_.path(), "/", name);
  }

  void Program(const std::string& name, const std::string& body) {
    std::ofstream(Path(name)) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(Path(name), std::filesystem::perms::owner_all);
  }

  // The first arguments of the program's calls since the last time.
  std::string Calls(const std::string& name) {
    std::ifstream in(Path(name + ".calls"));
    std::string calls;
    for (std::string line; std::getline(in, line);) absl::StrAppend(&calls, line, " ");
    std::filesystem::remove(Path(name + ".calls"));
    return calls;
  }

  std::vector<std::string> Texts() const {
    return {JoinLine(response_, response_.tokens(0)), JoinScript(response_, response_.tokens(0))};
  }

  sys::ProcessResult Run(const std::string& text) {
    sys::ProcessSpec spec;
    spec.argv = {"sh", "-s"};
    spec.input = text;
    spec.environment["PATH"] = absl::StrCat(folder_.path(), ":", sys::kStandardPath);
    const absl::StatusOr<sys::ProcessResult> result = sys::RealProcessRunner().Run(spec);
    EXPECT_OK(result);
    return result.ok() ? *result : sys::ProcessResult{.exit_code = -1};
  }

  v1::CreateTokenResponse response_;
  testing::TempDir folder_;
};

TEST_F(JoinScriptTest, FetchesInstallsAndJoins) {
  for (const std::string& text : Texts()) {
    SCOPED_TRACE(text);
    const sys::ProcessResult result = Run(text);
    EXPECT_TRUE(result.ok()) << result.output;
    EXPECT_EQ(Calls("apt-get"), "install ");
    EXPECT_EQ(Calls("muster-agent"), "join ");
    EXPECT_THAT(text, HasSubstr("--ca-pin 'sha256:00ff'"));
  }
}

// needrestart restarts what maps an old library, unless it is told otherwise.
TEST_F(JoinScriptTest, NothingIsRestartedBesides) {
  Program("apt-get", R"(echo "$NEEDRESTART_MODE" >>"$0.calls")");
  for (const std::string& text : Texts()) {
    SCOPED_TRACE(text);
    EXPECT_TRUE(Run(text).ok());
    EXPECT_EQ(Calls("apt-get"), "l ");
  }
}

// A new machine's lists of packages are empty, and an old one's name files that are gone.
TEST_F(JoinScriptTest, AFailedInstallationIsRepeatedWithFreshLists) {
  Program("apt-get", R"(echo "$1" >>"$0.calls"; grep -q update "$0.calls")");
  for (const std::string& text : Texts()) {
    SCOPED_TRACE(text);
    const sys::ProcessResult result = Run(text);
    EXPECT_TRUE(result.ok()) << result.output;
    EXPECT_EQ(Calls("apt-get"), "install update install ");
    EXPECT_EQ(Calls("muster-agent"), "join ");
  }
  Program("apt-get", R"(echo "$1" >>"$0.calls"; echo "E: nothing works"; exit 100)");
  for (const std::string& text : Texts()) {
    SCOPED_TRACE(text);
    const sys::ProcessResult result = Run(text);
    EXPECT_FALSE(result.ok());
    EXPECT_THAT(result.output, HasSubstr("E: nothing works"));
    EXPECT_EQ(Calls("apt-get"), "install update install ");
    EXPECT_EQ(Calls("muster-agent"), "");
  }
}

TEST_F(JoinScriptTest, WithoutTheRightPackageNothingIsInstalled) {
  for (const char* helper : {"echo \"E: Could not resolve 'login1'\" >&2; exit 100",
                             "for last; do :; done; echo \"another package\" >\"$last\""}) {
    Program("apt-helper", helper);
    for (const std::string& text : Texts()) {
      SCOPED_TRACE(absl::StrCat(helper, "\n", text));
      EXPECT_FALSE(Run(text).ok());
      EXPECT_EQ(Calls("apt-get"), "");
      EXPECT_EQ(Calls("muster-agent"), "");
    }
  }
}

TEST(JoinScript, TheTokenIsNeverAnArgumentOfAProgram) {
  const v1::CreateTokenResponse response = Response();
  const std::string line = JoinLine(response, response.tokens(0));
  // printf is a shell builtin: no process shows its arguments.
  EXPECT_THAT(line, HasSubstr("printf %s 'mtk-secret' | muster-agent join"));
  EXPECT_THAT(line.substr(line.find("muster-agent join")), Not(HasSubstr("mtk-secret")));
}

TEST(JoinScript, QuotesWhatTheControllerSays) {
  EXPECT_EQ(ShellQuote("a b"), "'a b'");
  EXPECT_EQ(ShellQuote("it's; rm -rf /"), "'it'\\''s; rm -rf /'");
}

}  // namespace
}  // namespace muster::cli
