// What tpm2-tools are asked for. That the programs answer so is seen with a TPM of software in the
// lab (tests/lab/memory_node_test.sh).
#include "agent/session/tpm.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fakes/fake_process_runner.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::muster::testing::FakeProcessRunner;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr char kFolder[] = "/run/tpm";

class TpmTest : public ::testing::Test {
 protected:
  TpmTest() { files_.AddDirectory("/run"); }
  Tpm Open() {
    return Tpm({.processes = processes_, .files = files_, .folder = kFolder, .tcti = "device:/d"});
  }
  // The program succeeds and leaves a file.
  void Leaves(const std::string& program, const std::string& name, const std::string& content) {
    processes_.On(program, [this, name, content](const sys::ProcessSpec&) {
      if (!name.empty()) {
        EXPECT_OK(files_.WriteAtomically(absl::StrCat(kFolder, "/", name), content, {}));
      }
      return FakeProcessRunner::Prints("");
    });
  }
  void AllSucceed() {
    Leaves("tpm2_createek", "ek.pem", "the key");
    Leaves("tpm2_createak", "ak.name", "its name");
    for (const char* program : {"tpm2_flushcontext", "tpm2_startauthsession", "tpm2_policysecret"})
      Leaves(program, "", "");
    Leaves("tpm2_activatecredential", "secret", "a secret");
  }

  testing::FakeFileSystem files_;
  testing::FakeProcessRunner processes_;
};

TEST_F(TpmTest, ProvesAndOpens) {
  AllSucceed();
  {
    Tpm tpm = Open();
    const auto proof = tpm.Prove();
    ASSERT_OK(proof);
    EXPECT_EQ(proof->endorsement_key_pem, "the key");
    EXPECT_EQ(proof->key_name, "its name");
    EXPECT_EQ(tpm.Open("sealed").value(), "a secret");
    EXPECT_FALSE(files_.Stat("/run/tpm/secret")->has_value());
  }
  EXPECT_FALSE(files_.Stat(kFolder)->has_value());
  EXPECT_THAT(processes_.commands(), Each(HasSubstr(" -Q -T device:/d ")));
}

TEST_F(TpmTest, SaysWhatFails) {
  EXPECT_THAT(Open().Prove(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  AllSucceed();
  processes_.On("tpm2_activatecredential",
                FakeProcessRunner::Prints("Esys_ActivateCredential(0x1DF)", 1));
  Tpm tpm = Open();
  ASSERT_OK(tpm.Prove());
  EXPECT_THAT(tpm.Open("of another TPM"), StatusIs(absl::StatusCode::kInternal, Said()));
  EXPECT_THAT(processes_.commands().back(), HasSubstr("session.ctx"))
      << "the session is closed also then";
}

}  // namespace
}  // namespace muster::agent
