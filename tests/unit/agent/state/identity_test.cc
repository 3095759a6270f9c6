#include "agent/state/identity.h"

#include <sys/stat.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/pki/authority.h"
#include "common/pki/key.h"
#include "common/sys/file_system.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

constexpr char kIdentityNode[] = "6a1f0d0e-0000-4000-8000-000000000001";

class IdentityTest : public ::testing::Test {
 protected:
  IdentityTest() : paths_(dir_.path() + "/muster"), now_(absl::FromUnixSeconds(1'700'000'000)) {
    ca_ = pki::MakeCa("test", absl::Hours(24), now_).value();
  }

  // A key and the certificate for it.
  Identity Make() {
    const pki::KeyAndCsr made = pki::MakeKeyAndCsr("c001").value();
    Identity identity;
    identity.node_uuid = kIdentityNode;
    identity.node_name = "c001";
    identity.controller_address = "login1:7443";
    identity.ca_pem = ca_.certificate_pem;
    identity.key_pem = made.key_pem;
    identity.certificate_pem =
        pki::SignCsr(ca_, made.csr_pem, {.common_name = "c001"},
                     {.not_before = now_, .not_after = now_ + absl::Hours(1)}, pki::Usage::kClient)
            .value();
    return identity;
  }

  muster::testing::TempDir dir_;
  const Paths paths_;
  const absl::Time now_;
  pki::Authority ca_;
  sys::RealFileSystem files_;
};

TEST_F(IdentityTest, SaysHowToJoinWhenThereIsNone) {
  EXPECT_FALSE(HasIdentity(paths_, files_).value());
  EXPECT_THAT(LoadIdentity(paths_, files_), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(IdentityTest, ComesBackAsStoredAndClosedToOthers) {
  const Identity identity = Make();
  ASSERT_OK(StoreIdentity(paths_, identity, files_));
  EXPECT_TRUE(HasIdentity(paths_, files_).value());
  const auto loaded = LoadIdentity(paths_, files_);
  ASSERT_OK(loaded);
  EXPECT_EQ(loaded->node_uuid, kIdentityNode);
  EXPECT_EQ(loaded->node_name, "c001");
  EXPECT_EQ(loaded->controller_address, "login1:7443");
  EXPECT_EQ(loaded->key_pem, identity.key_pem);
  for (const std::string& path : {paths_.ClientKey(), paths_.AgentJson(), paths_.NodeUuid()}) {
    struct stat st {};
    ASSERT_EQ(::stat(path.c_str(), &st), 0) << path;
    EXPECT_EQ(st.st_mode & 07777, 0600u) << path;
  }
  struct stat st {};
  ASSERT_EQ(::stat(paths_.root().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
}

TEST_F(IdentityTest, RenewalReplacesKeyAndCertificate) {
  ASSERT_OK(StoreIdentity(paths_, Make(), files_));
  const Identity renewed = Make();
  ASSERT_OK(
      ReplaceCertificate(paths_, renewed.ca_pem, renewed.certificate_pem, renewed.key_pem, files_));
  EXPECT_EQ(LoadIdentity(paths_, files_)->key_pem, renewed.key_pem);
  EXPECT_EQ(LoadIdentity(paths_, files_)->certificate_pem, renewed.certificate_pem);
}

TEST_F(IdentityTest, ARenewalCutOffBeforeItsCertificateLeavesTheOldPair) {
  const Identity old = Make();
  ASSERT_OK(StoreIdentity(paths_, old, files_));
  ASSERT_OK(files_.WriteAtomically(paths_.NewClientKey(), Make().key_pem, {}));
  EXPECT_EQ(LoadIdentity(paths_, files_)->key_pem, old.key_pem);
}

TEST_F(IdentityTest, ARenewalCutOffBeforeItsKeyIsFinished) {
  ASSERT_OK(StoreIdentity(paths_, Make(), files_));
  const Identity renewed = Make();
  ASSERT_OK(files_.WriteAtomically(paths_.NewClientKey(), renewed.key_pem, {}));
  ASSERT_OK(files_.WriteAtomically(paths_.ClientCertificate(), renewed.certificate_pem, {}));
  EXPECT_EQ(LoadIdentity(paths_, files_)->key_pem, renewed.key_pem);
  EXPECT_EQ(files_.Read(paths_.ClientKey()).value(), renewed.key_pem);
}

// As on a full disk, where each attempt gets a little further or not.
TEST_F(IdentityTest, RenewalsThatFailOneAfterTheOtherLeaveAKeyThatFits) {
  const Identity old = Make(), first = Make(), second = Make();
  constexpr int kChanges = 7;  // more than a renewal makes
  for (int i = 0; i < kChanges * kChanges; ++i) {
    SCOPED_TRACE(i);
    muster::testing::FakeFileSystem disk;
    ASSERT_OK(StoreIdentity(paths_, old, disk));
    const auto renew = [&](const Identity& to, int changes) {
      disk.FailAfter(changes, absl::ResourceExhaustedError("no space left on device"));
      ReplaceCertificate(paths_, to.ca_pem, to.certificate_pem, to.key_pem, disk).IgnoreError();
      disk.FailAfter(-1, absl::OkStatus());
    };
    renew(first, i / kChanges);
    renew(second, i % kChanges);
    EXPECT_OK(LoadIdentity(paths_, disk));
  }
}

TEST_F(IdentityTest, ARenewalOnAFullDiskTakesTheReserve) {
  const Identity old = Make(), renewed = Make(), next = Make();
  muster::testing::FakeFileSystem disk;
  ASSERT_OK(StoreIdentity(paths_, old, disk));
  ASSERT_OK(KeepReserve(paths_, disk));
  EXPECT_EQ(disk.At(paths_.Reserve()).stat.mode, 0600u);
  disk.LimitTo(disk.UsedBytes());
  ASSERT_OK(
      ReplaceCertificate(paths_, renewed.ca_pem, renewed.certificate_pem, renewed.key_pem, disk));
  EXPECT_EQ(LoadIdentity(paths_, disk)->key_pem, renewed.key_pem);

  // Others have taken the room.
  disk.LimitTo(disk.UsedBytes());
  EXPECT_EQ(KeepReserve(paths_, disk).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(
      ReplaceCertificate(paths_, next.ca_pem, next.certificate_pem, next.key_pem, disk).code(),
      absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(LoadIdentity(paths_, disk)->key_pem, renewed.key_pem);

  disk.LimitTo(disk.UsedBytes() + (size_t{1} << 20));
  ASSERT_OK(KeepReserve(paths_, disk));
  EXPECT_TRUE(disk.Has(paths_.Reserve()));
}

TEST_F(IdentityTest, TheReserveIsLeftAloneWhereThereIsRoom) {
  muster::testing::FakeFileSystem disk;
  ASSERT_OK(StoreIdentity(paths_, Make(), disk));
  ASSERT_OK(KeepReserve(paths_, disk));
  const std::string reserve = disk.At(paths_.Reserve()).content;
  const Identity renewed = Make();
  ASSERT_OK(
      ReplaceCertificate(paths_, renewed.ca_pem, renewed.certificate_pem, renewed.key_pem, disk));
  ASSERT_OK(KeepReserve(paths_, disk));
  EXPECT_EQ(disk.At(paths_.Reserve()).content, reserve);
}

TEST_F(IdentityTest, RefusesAKeyOfAnotherCertificate) {
  ASSERT_OK(StoreIdentity(paths_, Make(), files_));
  ASSERT_OK(files_.WriteAtomically(paths_.ClientKey(), Make().key_pem, {}));
  EXPECT_THAT(LoadIdentity(paths_, files_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  const Identity other = Make();
  EXPECT_THAT(
      ReplaceCertificate(paths_, other.ca_pem, Make().certificate_pem, other.key_pem, files_),
      StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

}  // namespace
}  // namespace muster::agent
