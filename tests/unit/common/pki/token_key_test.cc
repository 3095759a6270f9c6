// An authority whose key is in a token: SoftHSM's, which is a PKCS #11 module like any other.
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/pki/authority.h"
#include "common/pki/certificate.h"
#include "common/pki/key.h"
#include "common/sys/process/process.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::pki {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kTokenNow = absl::FromUnixSeconds(1'900'000'000);

class TokenKeyTest : public ::testing::Test {
 protected:
  // The module reads its settings once per process.
  static void SetUpTestSuite() {
    folder_ = new muster::testing::TempDir();
    const std::string settings = folder_->path() + "/softhsm2.conf";
    std::ofstream(settings) << "directories.tokendir = " << folder_->path()
                            << "\nlog.level = ERROR\n";
    setenv("SOFTHSM2_CONF", settings.c_str(), 1);
    const std::string key = folder_->path() + "/key.pem";
    std::ofstream(key) << MakeKeyAndCsr("x").value().key_pem;
    Run({"--init-token", "--free", "--label", "muster", "--pin", "1234", "--so-pin", "4321"});
    Run({"--import", key, "--token", "muster", "--label", "ca", "--id", "01", "--pin", "1234"});
    std::remove(key.c_str());
  }
  static void TearDownTestSuite() { delete folder_; }

  static void Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "softhsm2-util");
    sys::RealProcessRunner runner;
    ASSERT_OK(sys::RunChecked(
        runner, {.argv = arguments, .environment = {{"SOFTHSM2_CONF", getenv("SOFTHSM2_CONF")}}}));
  }
  static std::string Uri(const std::string& object, const std::string& pin) {
    return absl::StrCat("pkcs11:token=muster;object=", object, ";type=private?pin-value=", pin);
  }
  static absl::StatusOr<std::string> Sign(const Authority& ca) {
    return SignCsr(ca, MakeKeyAndCsr("c001").value().csr_pem, {.common_name = "c001"},
                   {kTokenNow, kTokenNow + absl::Hours(1)}, Usage::kClient);
  }

  static muster::testing::TempDir* folder_;
};
muster::testing::TempDir* TokenKeyTest::folder_ = nullptr;

TEST_F(TokenKeyTest, AuthoritySignsWithAKeyThatStaysInItsToken) {
  const absl::StatusOr<Authority> ca =
      MakeCa("token CA", absl::Hours(24), kTokenNow, Uri("ca", "1234"));
  ASSERT_OK(ca);
  EXPECT_TRUE(IsTokenKey(ca->key));
  EXPECT_OK(RootOf({ca->certificate_pem}, ca->key));
  const absl::StatusOr<std::string> pem = Sign(*ca);
  ASSERT_OK(pem);
  EXPECT_OK(VerifySignedBy(*pem, ca->certificate_pem, kTokenNow));
  // As in a file: with a newline.
  EXPECT_OK(RootOf({ca->certificate_pem}, ca->key + "\n"));
  const Authority other = MakeCa("other", absl::Hours(24), kTokenNow).value();
  EXPECT_THAT(RootOf({other.certificate_pem}, ca->key),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(TokenKeyTest, ManyMaySignAtOnce) {
  const Authority ca = MakeCa("token CA", absl::Hours(24), kTokenNow, Uri("ca", "1234")).value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&ca] {
      for (int n = 0; n < 5; ++n)
        EXPECT_OK(VerifySignedBy(Sign(ca).value(), ca.certificate_pem, kTokenNow));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TokenKeyTest, SaysWhatIsMissingAndNeverThePin) {
  for (const std::string& uri :
       {Uri("nothing", "1234"), std::string("pkcs11:token=nowhere;object=ca?pin-value=1234")}) {
    ::testing::internal::CaptureStderr();
    EXPECT_THAT(
        MakeCa("token CA", absl::Hours(24), kTokenNow, uri),
        StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(Said(), Not(HasSubstr("1234")))));
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), Not(HasSubstr("1234")));
  }
  EXPECT_THAT(MakeCa("x", absl::Hours(1), kTokenNow, "pkcs11:token=a b"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(MakeCa("x", absl::Hours(1), kTokenNow, "pkcs11:" + std::string(2000, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::pki
