#include "agent/session/pinned_ca.h"

#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/session/join.h"
#include "agent/session/tpm.h"
#include "agent/state/identity.h"
#include "common/base/clock.h"
#include "common/base/text/peer.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"
#include "common/pki/key.h"
#include "common/sys/file_system.h"
#include "muster/v1/enrollment.grpc.pb.h"
#include "tests/fakes/fake_enrollment.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"
#include "tests/fixtures/tpm_key.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeEnrollment;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

// The machine's clock, which may be wrong.
class WrongClock final : public Clock {
 public:
  absl::Time Now() override { return real_.Now() + ahead; }
  bool AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                  absl::Time deadline) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return real_.AwaitUntil(mutex, condition, deadline - ahead);
  }
  void Sleep(absl::Duration duration) override {
    if (on_sleep) {
      on_sleep(duration);
    } else {
      real_.Sleep(duration);
    }
  }

  absl::Duration ahead;
  std::function<void(absl::Duration)> on_sleep;  // in place of sleeping

 private:
  RealClock real_;
};

class JoinTest : public ::testing::Test {
 protected:
  JoinTest() : paths_(dir_.path() + "/muster") {
    options_ = {.controller = "login1:7443",
                .enrollment = server_.address(),
                .node_name = "c001",
                .ca_pin = server_.pin(),
                .token = "tok-1",
                .description = "a test"};
  }
  absl::Status Run() {
    return Join(options_, paths_, files_, clock_,
                [this](absl::string_view line) { said_ += std::string(line) + "\n"; });
  }

  muster::testing::TempDir dir_;
  const Paths paths_;
  sys::RealFileSystem files_;
  WrongClock clock_;
  FakeEnrollment server_;
  JoinOptions options_;
  std::string said_;
};

TEST_F(JoinTest, WaitsForApprovalAndStoresTheIdentity) {
  ASSERT_OK(Run());
  EXPECT_THAT(said_, HasSubstr("muster node approve c001"));
  const pki::Csr csr = pki::ParseCsr(server_.requests[0].csr_pem()).value();
  EXPECT_THAT(
      said_,
      HasSubstr("the key of this machine: " + pki::KeyFingerprint(csr.public_key_sha256) + "\n"));
  const auto identity = LoadIdentity(paths_, files_);
  ASSERT_OK(identity);
  EXPECT_EQ(identity->node_name, "c001");
  EXPECT_EQ(identity->controller_address, "login1:7443");
  EXPECT_EQ(identity->node_uuid, server_.requests[0].node_uuid());
  EXPECT_FALSE(files_.Stat(paths_.JoinRequest())->has_value());
}

TEST_F(JoinTest, AsksForATokenWhereNobodyGaveItOne) {
  options_.token.clear();
  ASSERT_OK(Run());
  ASSERT_EQ(server_.asked.size(), 1u);
  EXPECT_EQ(server_.asked[0].node_name(), "c001");
  EXPECT_EQ(server_.requests[0].token(), "tok-1");
  EXPECT_THAT(said_, HasSubstr("muster node approve c001")) << "an administrator compares the keys";
}

TEST_F(JoinTest, EnrollsAsTheMachineThatItWasRecognizedAs) {
  options_.token.clear();
  server_.recognized_as = "0b7e5a7e-3c11-8d53-9a41-7e1f00c0ffee";
  ASSERT_OK(Run());
  ASSERT_EQ(server_.requests.size(), 1u);
  EXPECT_EQ(server_.requests[0].node_uuid(), server_.recognized_as);
}

TEST_F(JoinTest, AsksWithoutATpmFromAPortThatOnlyRootMayUse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  options_.token.clear();
  for (int i = 0; i < 3; ++i) {  // ports of the attempts before are still taken
    options_.force = i > 0;
    ASSERT_OK(Run());
    EXPECT_LT(PeerPort(server_.asked_from).value_or(65535), 1024) << server_.asked_from;
  }
}

TEST_F(JoinTest, OfAControllerThatDoesNotAnswerItSaysSo) {
  options_.token.clear();
  server_.Stop();
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(options_.enrollment)));
}

TEST_F(JoinTest, WithATpmItIsTheSameMachineAfterEachBoot) {
  const std::string folder = dir_.path() + "/tpm";
  const std::string public_pem = testing::NewTpmKey();
  testing::FakeProcessRunner processes;
  processes.On("tpm2_", testing::FakeProcessRunner::Prints(""));
  const auto leaves = [&](const std::string& name, const std::string& content) {
    return [&, name, content](const sys::ProcessSpec&) {
      EXPECT_OK(files_.WriteAtomically(folder + "/" + name, content, {.mode = 0600}));
      return testing::FakeProcessRunner::Prints("");
    };
  };
  processes.On("tpm2_createek", leaves("ek.pem", public_pem));
  processes.On("tpm2_createak", leaves("ak.name", std::string(34, 'n')));
  processes.On("tpm2_activatecredential", leaves("secret", "\x01\x02"));
  Tpm tpm({.processes = processes, .files = files_, .folder = folder, .tcti = "device:/d"});
  options_.token.clear();
  options_.tpm = &tpm;
  ASSERT_OK(Run());
  EXPECT_EQ(server_.asked[0].endorsement_key_pem(), public_pem);
  EXPECT_EQ(server_.requests[0].token(), testing::kOpened);
  // The next boot, with nothing of this one.
  ASSERT_OK(files_.Remove(paths_.root(), /*recursive=*/true));
  ASSERT_OK(Run());
  EXPECT_EQ(server_.requests[1].node_uuid(), server_.requests[0].node_uuid());
  EXPECT_NE(server_.requests[1].csr_pem(), server_.requests[0].csr_pem());
  EXPECT_EQ(LoadIdentity(paths_, files_)->node_uuid, server_.requests[0].node_uuid());
}

TEST_F(JoinTest, WaitsOnWhenItsNetworkHasAskedTooOften) {
  server_.wrong = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many attempts");
  server_.wrong_answers = 1;
  EXPECT_OK(Run());
  EXPECT_EQ(server_.wrong_answers, 0);
  EXPECT_EQ(server_.requests.size(), 1u);
}

TEST_F(JoinTest, ARequestWhoseTimeIsOverIsMadeAnew) {
  server_.wrong = grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "token is not valid");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  server_.wrong = grpc::Status::OK;
  ASSERT_OK(Run());
  EXPECT_NE(server_.requests[0].node_uuid(), server_.requests[1].node_uuid());
}

TEST_F(JoinTest, TheSecondJoinNeedsForceAndGetsANewUuid) {
  ASSERT_OK(Run());
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kAlreadyExists, Said()));
  options_.force = true;
  ASSERT_OK(Run());
  EXPECT_NE(server_.requests[0].node_uuid(), server_.requests[1].node_uuid());
  EXPECT_EQ(LoadIdentity(paths_, files_)->node_uuid, server_.requests[1].node_uuid());
}

TEST_F(JoinTest, ARefusedJoinLeavesTheMachineWhatItWas) {
  ASSERT_OK(Run());
  const auto before = LoadIdentity(paths_, files_);
  ASSERT_OK(before);
  options_.force = true;
  options_.token = "tok-2";
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  const auto after = LoadIdentity(paths_, files_);
  ASSERT_OK(after);
  EXPECT_EQ(after->node_uuid, before->node_uuid);
  EXPECT_EQ(after->certificate_pem, before->certificate_pem);
}

TEST_F(JoinTest, AJoinThatWasCutOffGoesOnWithTheSameRequest) {
  server_.lose_first_answer = true;
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnavailable, Said()));
  ASSERT_OK(Run());
  EXPECT_EQ(server_.requests[0].node_uuid(), server_.requests[1].node_uuid());
  EXPECT_EQ(server_.requests[0].csr_pem(), server_.requests[1].csr_pem());
}

TEST_F(JoinTest, AJoinThatAWrongClockHasRefusedGoesOnWithAnotherToken) {
  clock_.ahead = absl::Hours(48);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("clock")));
  EXPECT_FALSE(HasIdentity(paths_, files_).value());
  clock_.ahead = absl::ZeroDuration();
  options_.token = server_.good_token = "tok-2";
  ASSERT_OK(Run());
  EXPECT_EQ(server_.requests[0].node_uuid(), server_.requests[1].node_uuid());
  EXPECT_EQ(server_.requests[0].csr_pem(), server_.requests[1].csr_pem());
}

// The controller admitted it, ended its membership of before, and the machine refused the answer.
TEST_F(JoinTest, AMachineWhoseClockIsBehindIsNotEnrolled) {
  clock_.ahead = -absl::Hours(48);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition,
                              HasSubstr("the controller's authority was made")));
  EXPECT_TRUE(server_.requests.empty());
  clock_.ahead = absl::ZeroDuration();
  ASSERT_OK(Run());
  clock_.ahead = -absl::Hours(1);
  for (const bool force : {false, true}) {
    options_.force = force;
    EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("its certificate was made")));
  }
  EXPECT_EQ(server_.requests.size(), 1u);
  clock_.on_sleep = [](absl::Duration) {};
  EXPECT_TRUE(HasJoined(options_, paths_, files_, clock_).value());
}

TEST_F(JoinTest, AMachineThatTheControllerDoesNotContinueIsANewOne) {
  server_.lose_first_answer = true;
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cable")));
  server_.strange_machines = 1;
  ASSERT_OK(Run());
  ASSERT_EQ(server_.requests.size(), 3u);
  EXPECT_EQ(server_.requests[1].node_uuid(), server_.requests[0].node_uuid());
  EXPECT_NE(server_.requests[2].node_uuid(), server_.requests[0].node_uuid());
  EXPECT_EQ(LoadIdentity(paths_, files_)->node_uuid, server_.requests[2].node_uuid());
}

TEST_F(JoinTest, ANewMachineIsRefusedOnce) {
  server_.strange_machines = 2;
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another")));
  EXPECT_EQ(server_.requests.size(), 1u);
}

TEST_F(JoinTest, AMachineWhoseCertificateHasExpiredKeepsItsUuidUnderTheSameName) {
  server_.lifetime = absl::Hours(1);
  ASSERT_OK(Run());
  server_.lifetime = absl::Hours(3);
  const std::string uuid = server_.requests[0].node_uuid();
  clock_.ahead = absl::Hours(2);
  ASSERT_OK(Run());
  EXPECT_EQ(server_.requests[1].node_uuid(), uuid);
  EXPECT_NE(server_.requests[1].csr_pem(), server_.requests[0].csr_pem());
  EXPECT_EQ(LoadIdentity(paths_, files_)->node_uuid, uuid);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("--force")));

  clock_.ahead = absl::Hours(4);
  server_.lifetime = absl::Hours(24);
  server_.strange_machines = 1;
  ASSERT_OK(Run());
  EXPECT_EQ(server_.requests[2].node_uuid(), uuid);
  EXPECT_NE(server_.requests[3].node_uuid(), uuid) << "it was removed meanwhile";
}

// A machine that boots from its disk looks at each boot whether it has to ask.
TEST_F(JoinTest, AMachineThatBootsAsksUnlessItIsANode) {
  absl::Duration slept;
  const auto has_joined = [&] {
    slept = absl::ZeroDuration();
    clock_.on_sleep = [&](absl::Duration duration) { slept += duration; };
    const bool answer = HasJoined(options_, paths_, files_, clock_).value();
    clock_.on_sleep = nullptr;
    return answer;
  };
  options_.token.clear();
  EXPECT_FALSE(has_joined());
  server_.lifetime = absl::Hours(1);
  ASSERT_OK(Run());
  EXPECT_TRUE(has_joined());
  server_.lifetime = absl::Hours(24);
  clock_.ahead = absl::Hours(2);
  EXPECT_FALSE(has_joined()) << "its certificate has expired";
  EXPECT_EQ(slept, absl::Minutes(1)) << "the clock could have been wrong";
  ASSERT_OK(Run());
  EXPECT_TRUE(has_joined());
  ASSERT_OK(MarkTurnedAway(paths_, files_));
  EXPECT_FALSE(has_joined()) << "it was removed or locked";
  EXPECT_EQ(slept, absl::ZeroDuration());
  ASSERT_OK(Run());
  EXPECT_TRUE(has_joined());
  EXPECT_EQ(server_.asked.size(), 3u);
}

// The controller would take it for one that has lost what it had passed.
TEST_F(JoinTest, AMachineWhoseClockIsYetToBeSetDoesNotAsk) {
  options_.token.clear();
  ASSERT_OK(Run());
  clock_.ahead = absl::Hours(24 * 365 * 20);
  clock_.on_sleep = [this](absl::Duration) { clock_.ahead = absl::ZeroDuration(); };
  EXPECT_TRUE(HasJoined(options_, paths_, files_, clock_).value());
}

TEST_F(JoinTest, AClockThatIsBehindDoesNotHideThatTheCertificateHasExpired) {
  server_.lifetime = absl::Hours(1);
  ASSERT_OK(Run());
  clock_.ahead = -absl::Hours(24 * 365);
  clock_.on_sleep = [this](absl::Duration) { clock_.ahead = absl::Hours(2); };
  EXPECT_FALSE(HasJoined(options_, paths_, files_, clock_).value());
}

TEST_F(JoinTest, AMachineWhoseCertificateHasExpiredIsAnotherUnderAnotherName) {
  server_.lifetime = absl::Hours(1);
  ASSERT_OK(Run());
  server_.lifetime = absl::Hours(24);
  clock_.ahead = absl::Hours(2);
  options_.node_name = "c002";
  ASSERT_OK(Run());
  EXPECT_NE(server_.requests[1].node_uuid(), server_.requests[0].node_uuid());
}

TEST_F(JoinTest, TellsOfARejectionAndOfABadToken) {
  server_.decision = v1::ENROLLMENT_STATE_REJECTED;
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  options_.token = "tok-2";
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_FALSE(HasIdentity(paths_, files_).value());
}

TEST_F(JoinTest, ShowsTheTokenToNobodyButTheOwnerOfThePinnedCa) {
  options_.ca_pin = "sha256:" + std::string(64, 'a');
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_TRUE(server_.requests.empty());
}

TEST_F(JoinTest, PinsAndAddressesAreChecked) {
  const absl::Duration second = absl::Seconds(1);
  EXPECT_THAT(FetchPinnedCa(server_.address(), "sha256:12", second),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(FetchPinnedCa("login1", server_.pin(), second),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(FetchPinnedCa("127.0.0.1:1", server_.pin(), second),
              StatusIs(absl::StatusCode::kUnavailable, Said()));
}

}  // namespace
}  // namespace muster::agent
