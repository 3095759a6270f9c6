#include "controller/enrollment/sealed_token.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/pki/endorsement_key.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class SealedTokenTest : public ::testing::Test {
 protected:
  SealedTokenTest() { files_.AddDirectory("/state"); }
  absl::StatusOr<std::string> Seal() {
    return SealToken({processes_, files_, "/state/tpm_key.pem"},
                     {.public_pem = "the key", .sha256 = ""}, std::string("\x00\x0b\xff", 3),
                     "a secret");
  }

  testing::FakeProcessRunner processes_;
  testing::FakeFileSystem files_;
};

TEST_F(SealedTokenTest, TheSecretIsInNoArgumentAndNoFile) {
  processes_.On("tpm2_makecredential", FakeProcessRunner::Prints("sealed"));
  EXPECT_EQ(Seal().value(), "sealed");
  EXPECT_THAT(processes_.commands(),
              ElementsAre("tpm2_makecredential -Q -T none -G rsa -u /state/tpm_key.pem -s - -n "
                          "000bff -o /dev/stdout"));
  EXPECT_EQ(processes_.specs()[0].input, "a secret");
  EXPECT_EQ(files_.Read("/state/tpm_key.pem", 100).value(), "the key");
}

TEST_F(SealedTokenTest, SaysWhatIsMissing) {
  EXPECT_THAT(Seal(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  processes_.On("tpm2_makecredential", FakeProcessRunner::Prints("no such key", 1));
  EXPECT_THAT(Seal(), StatusIs(absl::StatusCode::kInternal, HasSubstr("no such key")));
  processes_.On("tpm2_makecredential", FakeProcessRunner::Prints(""));
  EXPECT_THAT(Seal(), StatusIs(absl::StatusCode::kInternal, Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace muster::controller
