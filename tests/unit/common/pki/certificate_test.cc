#include "common/pki/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/pki/authority.h"
#include "common/pki/key.h"
#include "tests/fakes/status_matchers.h"

namespace muster::pki {
namespace {

using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

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

TEST(Csr, KeysDiffer) {
  const KeyAndCsr a = MakeKeyAndCsr("same").value();
  const KeyAndCsr b = MakeKeyAndCsr("same").value();
  EXPECT_NE(ParseCsr(a.csr_pem)->public_key_sha256, ParseCsr(b.csr_pem)->public_key_sha256);
  EXPECT_EQ(ParseCsr(a.csr_pem)->common_name, "same");
  EXPECT_THAT(MakeKeyAndCsr(""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 to 64")));
}

}  // namespace
}  // namespace muster::pki
