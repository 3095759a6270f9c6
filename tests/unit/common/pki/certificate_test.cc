#include "common/pki/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>

#include "absl/strings/str_cat.h"
#include "common/pki/authority.h"
#include "common/pki/key.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::pki {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;

TEST(Certificate, RefusesWhatIsNone) {
  for (const std::string& text :
       {std::string(), std::string("hello"),
        std::string("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        std::string(70'000, 'x'), MakeKeyAndCsr("x")->key_pem, MakeKeyAndCsr("x")->csr_pem}) {
    EXPECT_EQ(ParseCertificate(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(Certificate, PinIsTheDigestOfTheDerForm) {
  const Authority ca = MakeCa("pin", absl::Hours(1), absl::FromUnixSeconds(2'000'000'000)).value();
  const Certificate parsed = ParseCertificate(ca.certificate_pem).value();
  EXPECT_EQ(Sha256Pin(ca.certificate_pem).value(), absl::StrCat("sha256:", parsed.sha256));
  // White space around the block is not part of the certificate.
  EXPECT_EQ(Sha256Pin(absl::StrCat("\n\n", ca.certificate_pem, "\n")).value(),
            absl::StrCat("sha256:", parsed.sha256));
}

TEST(Certificate, RootsAreSplitAndTheOneThatSignedIsFound) {
  const absl::Time now = absl::FromUnixSeconds(2'000'000'000);
  // Two of the same name: the key distinguishes them.
  const Authority first = MakeCa("roots", absl::Hours(9), now).value();
  const Authority second = MakeCa("roots", absl::Hours(9), now).value();
  const Authority stranger = MakeCa("roots", absl::Hours(9), now).value();
  const std::string both = absl::StrCat("# two\n", first.certificate_pem, second.certificate_pem);
  EXPECT_THAT(SplitCertificates(both).value(),
              ElementsAre(first.certificate_pem, second.certificate_pem));
  const auto sign = [&](const Authority& ca) {
    return SignCsr(ca, MakeKeyAndCsr("x")->csr_pem, {.common_name = "x"},
                   {now, now + absl::Hours(1)}, Usage::kClient)
        .value();
  };
  EXPECT_EQ(IssuerOf(sign(first), both).value(), first.certificate_pem);
  EXPECT_EQ(IssuerOf(sign(second), both).value(), second.certificate_pem);
  EXPECT_EQ(ERR_peek_error(), 0u);
  EXPECT_OK(VerifySignedBy(sign(second), both, now));
  EXPECT_THAT(VerifySignedBy(sign(second), both, now + absl::Hours(2)),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(VerifySignedBy(sign(stranger), both, now),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(SplitCertificates("nothing"), StatusIs(absl::StatusCode::kInvalidArgument, _));
  std::string many;
  for (int i = 0; i < 9; ++i) many += first.certificate_pem;
  EXPECT_THAT(SplitCertificates(many), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(SplitCertificates(first.certificate_pem + "-----BEGIN CERTIFICATE-----\nAA"),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
}

TEST(Csr, KeysDiffer) {
  const KeyAndCsr a = MakeKeyAndCsr("same").value();
  const KeyAndCsr b = MakeKeyAndCsr("same").value();
  EXPECT_NE(ParseCsr(a.csr_pem)->public_key_sha256, ParseCsr(b.csr_pem)->public_key_sha256);
  EXPECT_EQ(ParseCsr(a.csr_pem)->common_name, "same");
  EXPECT_THAT(MakeKeyAndCsr(""), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::pki
