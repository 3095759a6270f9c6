#include "common/pki/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>

#include "common/pki/certificate.h"
#include "common/pki/key.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::pki {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

const absl::Time kNow = absl::FromUnixSeconds(1'900'000'000);

class AuthorityTest : public ::testing::Test {
 protected:
  void SetUp() override { ca_ = MakeCa("test CA", absl::Hours(24 * 365), kNow).value(); }
  absl::StatusOr<std::string> Sign(absl::string_view csr, const Subject& subject) {
    return SignCsr(ca_, csr, subject, {kNow - absl::Minutes(5), kNow + absl::Hours(24)},
                   Usage::kClient);
  }
  Authority ca_;
};

TEST_F(AuthorityTest, CaIsOneAndOwnsItsKey) {
  EXPECT_OK(RootOf({ca_.certificate_pem}, ca_.key));
  const Certificate ca = ParseCertificate(ca_.certificate_pem).value();
  EXPECT_TRUE(ca.is_ca);
  EXPECT_EQ(ca.not_after, kNow + absl::Hours(24 * 365));
  const Authority other = MakeCa("other", absl::Hours(1), kNow).value();
  EXPECT_THAT(RootOf({ca_.certificate_pem}, other.key),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(AuthorityTest, NamesComeFromTheAuthority) {
  const KeyAndCsr made = MakeKeyAndCsr("muster://node/forged").value();
  const std::string pem = Sign(made.csr_pem, {.common_name = "c001",
                                              .organization = "muster:node",
                                              .uri_sans = {"muster://node/1"},
                                              .dns_sans = {"c001.example"}})
                              .value();
  const Certificate certificate = ParseCertificate(pem).value();
  EXPECT_EQ(certificate.common_name, "c001");
  EXPECT_EQ(certificate.organization, "muster:node");
  EXPECT_THAT(certificate.uri_sans, ElementsAre("muster://node/1"));
  EXPECT_THAT(certificate.dns_sans, ElementsAre("c001.example"));
  EXPECT_EQ(certificate.not_before, kNow - absl::Minutes(5));
  EXPECT_EQ(certificate.not_after, kNow + absl::Hours(24));
  EXPECT_EQ(certificate.serial.size(), 32u);
  EXPECT_FALSE(certificate.is_ca);
  EXPECT_EQ(certificate.public_key_sha256, ParseCsr(made.csr_pem)->public_key_sha256);
  EXPECT_OK(VerifySignedBy(pem, ca_.certificate_pem, kNow));
}

TEST_F(AuthorityTest, VerifiesIssuerAndTime) {
  const std::string pem = Sign(MakeKeyAndCsr("x")->csr_pem, {.common_name = "x"}).value();
  const Authority namesake = MakeCa("test CA", absl::Hours(24), kNow).value();
  EXPECT_THAT(VerifySignedBy(pem, namesake.certificate_pem, kNow),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(VerifySignedBy(pem, ca_.certificate_pem, kNow + absl::Hours(25)),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

// A CSR with another key's signature: the applicant does not hold the private key.
TEST_F(AuthorityTest, RefusesCsrWithoutPossession) {
  std::string csr = MakeKeyAndCsr("node").value().csr_pem;
  // The signature ends the DER form; flip letters shortly before the end of the base64.
  const size_t end = csr.rfind("-----END");
  const size_t place = csr.find_last_not_of("=\n", end - 1) - 12;
  csr[place] = csr[place] == 'A' ? 'B' : 'A';
  EXPECT_THAT(Sign(csr, {.common_name = "x"}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(AuthorityTest, RefusesBadSubjects) {
  const std::string csr = MakeKeyAndCsr("x").value().csr_pem;
  EXPECT_THAT(Sign(csr, {.common_name = std::string(65, 'x')}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Sign(csr, {.common_name = std::string("a\0b", 3)}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Sign(csr, {.common_name = "x", .ip_sans = {"10.0.0.300"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Sign("hello", {.common_name = "x"}),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

// RSA key, made with `openssl req -new -newkey rsa:1024 -nodes -subj /CN=rsa`.
TEST_F(AuthorityTest, RefusesOtherKinds) {
  constexpr char kRsa[] = R"(-----BEGIN CERTIFICATE REQUEST-----
MIIBTTCBtwIBADAOMQwwCgYDVQQDDANyc2EwgZ8wDQYJKoZIhvcNAQEBBQADgY0A
MIGJAoGBAKzWksvHIT0nM5ha5UlmcG/2XIakdD8CNVrd7W7isriSmBi0QOuW8zvn
w2q8Yzed2fUIUPY9bbXR8P37DqV0QcgVVgzrPmVDcQl7mpQJrWVWXFlqvsI0bSPq
CXgQNdif7N7e1XWGuG8WG7ru31g/9HPtw6gUUj6ulVTV1fHmPFMxAgMBAAGgADAN
BgkqhkiG9w0BAQsFAAOBgQCe8qgPjxZu4bcnMIByUIs1QbJHu3jpge/NSJp7a4Lj
HJVYamZ0kJvsKDNPuNnNogPfRCmkx3+0/4vIALgMJv2ylFklvIVISPMSXzcnzoX1
2/hFYZ6Iaqj5m2cbu0SZqQ99zYmXFVOBlfOM0TMFGzm0dwO4fTbPkesjo3xCd3uk
rA==
-----END CERTIFICATE REQUEST-----
)";
  EXPECT_THAT(Sign(kRsa, {.common_name = "x"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(AuthorityTest, ServerIsSignedAgainWithItsKeyAndItsNames) {
  const Authority next = MakeCa("next", absl::Hours(24 * 365), kNow).value();
  const KeyAndCsr key = MakeKeyAndCsr("login1").value();
  const std::string before =
      SignCsr(
          ca_, key.csr_pem,
          {.common_name = "login1", .dns_sans = {"login1", "localhost"}, .ip_sans = {"10.0.0.1"}},
          {kNow, kNow + absl::Hours(48)}, Usage::kServer)
          .value();
  const Validity later = {kNow + absl::Hours(24), kNow + absl::Hours(96)};
  const std::string after = SignAgain(next, before, later, Usage::kServer).value();
  EXPECT_OK(VerifySignedBy(after, next.certificate_pem, kNow + absl::Hours(95)));
  const Certificate old = ParseCertificate(before).value(), made = ParseCertificate(after).value();
  EXPECT_EQ(made.public_key_sha256, old.public_key_sha256);
  EXPECT_EQ(made.common_name, "login1");
  EXPECT_THAT(made.dns_sans, ElementsAre("login1", "localhost"));
  EXPECT_EQ(made.not_after, later.not_after);
  EXPECT_NE(made.serial, old.serial);
  const Subject more = {.dns_sans = {"localhost", "muster.example"}, .ip_sans = {"10.0.0.2"}};
  const std::string renamed = SignAgain(next, after, later, Usage::kServer, more).value();
  EXPECT_THAT(ParseCertificate(renamed)->dns_sans,
              ElementsAre("login1", "localhost", "muster.example"));
  EXPECT_THAT(SignAgain(next, after, later, Usage::kServer, {.ip_sans = {"10.0.0"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("10.0.0")));
  EXPECT_THAT(SignAgain({next.certificate_pem, ca_.key}, before, later, Usage::kServer),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(AuthorityTest, KeyIsFoundAmongRoots) {
  const Authority next = MakeCa("test CA", absl::Hours(24), kNow).value();
  const std::vector<std::string> roots = {next.certificate_pem, ca_.certificate_pem};
  EXPECT_EQ(RootOf(roots, next.key).value(), 0u);
  EXPECT_EQ(RootOf(roots, ca_.key).value(), 1u);
  EXPECT_EQ(ERR_peek_error(), 0u);  // nothing is left for TLS to stumble over
  EXPECT_THAT(RootOf({next.certificate_pem}, ca_.key),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(RootOf(roots, "nothing"), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::pki
