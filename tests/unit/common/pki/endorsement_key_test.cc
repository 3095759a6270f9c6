#include "common/pki/endorsement_key.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/id.h"
#include "common/pki/key.h"
#include "common/pki/openssl.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/tpm_key.h"

namespace muster::pki {
namespace {

using ::muster::testing::PublicPem;
using ::muster::testing::StatusIs;

TEST(EndorsementKeyTest, IsToldByTheDigestOfItsPublicHalf) {
  const KeyPtr key(EVP_RSA_gen(2048));
  const std::string pem = PublicPem(key.get());
  const auto read = ParseEndorsementKey(pem);
  ASSERT_OK(read);
  EXPECT_EQ(read->sha256, PublicKeySha256(key.get()).value());
  EXPECT_EQ(read->public_pem, pem);
  // Whatever stands around it goes no further.
  const auto decorated = ParseEndorsementKey("-s /etc/shadow\n" + pem + "more\n");
  ASSERT_OK(decorated);
  EXPECT_EQ(decorated->public_pem, pem);
}

TEST(EndorsementKeyTest, OtherKeysAreNone) {
  const KeyPtr short_one(EVP_RSA_gen(1024));
  const KeyPtr long_one(EVP_RSA_gen(3072));
  const KeyPtr elliptic = NewKey().value();
  for (const std::string& pem :
       {std::string(), std::string("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"),
        PublicPem(short_one.get()), PublicPem(long_one.get()), PublicPem(elliptic.get()),
        WriteKey(elliptic.get()).value(), std::string(5000, 'x')})
    EXPECT_THAT(ParseEndorsementKey(pem),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("RSA")))
        << pem;
}

TEST(MachineUuidTest, FollowsFromKeyAndNameAlone) {
  const std::string one(64, 'a'), other(64, 'b');
  const std::string uuid = MachineUuid(one, "c001");
  EXPECT_TRUE(IsUuid(uuid)) << uuid;
  EXPECT_EQ(uuid[14], '8');
  EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos) << uuid;
  EXPECT_EQ(MachineUuid(one, "c001"), uuid);
  EXPECT_NE(MachineUuid(one, "c002"), uuid);
  EXPECT_NE(MachineUuid(other, "c001"), uuid);
}

}  // namespace
}  // namespace muster::pki
