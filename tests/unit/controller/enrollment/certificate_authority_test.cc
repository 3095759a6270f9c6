#include "controller/enrollment/certificate_authority.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/pki/certificate.h"
#include "common/pki/key.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

const absl::Time kNow = absl::FromUnixSeconds(1'900'000'000);

class LoadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
    const pki::Authority ca = pki::MakeCa("test", absl::Hours(24), kNow).value();
    Write("ca.crt", ca.certificate_pem, 0644);
    Write("ca.key", ca.key, 0600);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text, mode_t mode) {
    std::ofstream(folder_ / name) << text;
    chmod((folder_ / name).c_str(), mode);
  }
  std::filesystem::path folder_;
};

TEST_F(LoadTest, LoadsAndIssues) {
  const CertificateAuthority ca = CertificateAuthority::Load(folder_).value();
  EXPECT_EQ(ca.pin(), pki::Sha256Pin(ca.roots().pem).value());
  const std::string csr = pki::MakeKeyAndCsr("x").value().csr_pem;
  const IssuedCertificate user =
      ca.IssueUser(csr, "alice", Role::kViewer, kNow, kNow + absl::Hours(1)).value();
  EXPECT_EQ(user.record.role, "viewer");
  EXPECT_EQ(user.record.user, "alice");
  EXPECT_EQ(user.record.not_after, kNow + absl::Hours(1));
  EXPECT_EQ(IdentityOf(pki::ParseCertificate(user.pem).value()).value().Actor(), "viewer:alice");
}

TEST_F(LoadTest, SignsWithTheRootThatItsKeyBelongsToAndGivesOutAll) {
  const CertificateAuthority before = CertificateAuthority::Load(folder_).value();
  const pki::Authority next = pki::MakeCa("next", absl::Hours(24), kNow).value();
  const auto load = [&](const std::string& roots) {
    Write("ca.crt", roots, 0644);
    return CertificateAuthority::Load(folder_).value();
  };
  const CertificateAuthority both = load(next.certificate_pem + before.roots().pem);
  EXPECT_EQ(both.pin(), before.pin());
  EXPECT_NE(both.roots().digest, before.roots().digest);
  // The order of the roots does not matter.
  EXPECT_EQ(load(before.roots().pem + next.certificate_pem).roots().digest, both.roots().digest);
  Write("ca.key", next.key, 0600);
  const CertificateAuthority after = CertificateAuthority::Load(folder_).value();
  EXPECT_EQ(after.pin(), pki::Sha256Pin(next.certificate_pem).value());

  const std::string csr = pki::MakeKeyAndCsr("x").value().csr_pem;
  const auto issue = [&](const CertificateAuthority& ca) {
    return ca.IssueNode(csr, "u", "c001", kNow).value().record;
  };
  EXPECT_FALSE(after.IsBehind(issue(after)));
  EXPECT_TRUE(after.IsBehind(issue(both)));   // signed by another one
  EXPECT_TRUE(both.IsBehind(issue(before)));  // issued with other roots
  EXPECT_TRUE(both.IsBehind(CertificateRecord()));
}

TEST_F(LoadTest, RefusesAKeyThatOthersMayRead) {
  chmod((folder_ / "ca.key").c_str(), 0644);
  EXPECT_THAT(CertificateAuthority::Load(folder_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(LoadTest, RefusesAnotherKey) {
  Write("ca.key", pki::MakeCa("other", absl::Hours(24), kNow).value().key, 0600);
  EXPECT_THAT(CertificateAuthority::Load(folder_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  std::filesystem::remove(folder_ / "ca.key");
  EXPECT_THAT(CertificateAuthority::Load(folder_), StatusIs(absl::StatusCode::kNotFound, Said()));
}

}  // namespace
}  // namespace muster::controller
