#include "cli/bootstrap/join_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/v1/enrollment.pb.h"

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

TEST(JoinScript, ChecksTheDigestBeforeItInstalls) {
  const v1::CreateTokenResponse response = Response();
  for (const std::string& text :
       {JoinLine(response, response.tokens(0)), JoinScript(response, response.tokens(0))}) {
    SCOPED_TRACE(text);
    const size_t check = text.find("sha256sum -c"), install = text.find("apt-get install");
    ASSERT_NE(check, std::string::npos);
    ASSERT_NE(install, std::string::npos);
    EXPECT_LT(check, install);
    EXPECT_THAT(text, HasSubstr("--ca-pin 'sha256:00ff'"));
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
