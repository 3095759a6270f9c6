#include "cli/image/signing/signing_keys.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "cli/image/build_tools.h"
#include "cli/image/kernel_image.h"
#include "cli/image/signing/signing_revocation.h"
#include "common/sys/process/process.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Firmware may trust it, and nothing brings it back.
TEST(SigningKeysTest, AKeyWhoseCertificateIsMissingIsNotReplaced) {
  const muster::testing::TempDir temp;
  const std::string key = temp.path() + "/db.key";
  std::ofstream(key) << "mine";
  sys::RealProcessRunner processes;
  EXPECT_THAT(MakeSigningKeys({.folder = temp.path(), .loader = "", .trusted = {}}, processes,
                              [](absl::string_view line) { ADD_FAILURE() << line; }),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("db.key is there"), HasSubstr("db.der is not"))));
  EXPECT_EQ(std::filesystem::file_size(key), 4u);
  EXPECT_FALSE(std::filesystem::exists(temp.path() + "/PK.key"));
}

const std::string& Image() {
  static const auto& label = *new std::string("worker@" + std::string(64, '1'));
  return label;
}

// With the programs that sign, and the stub and the loader of systemd as what is signed.
class SigningTest : public ::testing::Test {
 protected:
  // Keys take a second, and are not changed.
  static void SetUpTestSuite() {
    if (!CheckSigningTools().ok()) return;
    made_ = new muster::testing::TempDir();
    sys::RealProcessRunner processes;
    ASSERT_OK(MakeSigningKeys({.folder = made_->path() + "/keys", .loader = "", .trusted = {}},
                              processes, [](absl::string_view) {}));
  }
  static void TearDownTestSuite() {
    delete made_;
    made_ = nullptr;
  }
  void SetUp() override {
    ASSERT_OK(CheckSigningTools());
    fs::copy(made_->path() + "/keys", keys_, fs::copy_options::recursive);
  }
  std::string Read(const std::string& name) {
    std::ifstream in(keys_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  absl::Status Make(const KeysRecipe& recipe) {
    return MakeSigningKeys(recipe, processes_, [](absl::string_view) {});
  }
  absl::Status Sign(const std::string& label, const std::string& program = kEfiStub) {
    return SignProgram(keys_, label, program, temp_.path() + "/signed.efi", processes_);
  }
  absl::Status Revoke(const std::vector<std::string>& what, bool force = false) {
    return RevokeSigned({.folder = keys_, .what = what, .force = force}, processes_,
                        [&](absl::string_view line) { said_ += std::string(line) + "\n"; });
  }
  std::vector<std::string> Lines(const std::string& file) {
    return absl::StrSplit(Read(file), '\n', absl::SkipEmpty());
  }
  // What nodes are told, without the certificate before it.
  std::vector<std::string> Told() {
    std::vector<std::string> lines = Lines("dbx.list");
    EXPECT_EQ(lines.at(0), absl::BytesToHexString(Read("db.der")));
    lines.erase(lines.begin());
    return lines;
  }
  // The path of an unsigned program with this command line.
  std::string Joined(const std::string& command_line) {
    const std::string section = temp_.path() + "/cmdline", joined = temp_.path() + "/joined.efi";
    std::ofstream(section) << command_line;
    std::ifstream in(kEfiStub, std::ios::binary);
    const std::string stub{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    sys::ProcessSpec spec;
    spec.argv = JoinKernelImage(kEfiStub, ReadStub(stub).value(),
                                {{".cmdline", section, command_line.size()}}, joined);
    spec.timeout = absl::Minutes(1);
    EXPECT_OK(sys::RunChecked(processes_, spec).status());
    return joined;
  }

  static inline muster::testing::TempDir* made_ = nullptr;
  const muster::testing::TempDir temp_;
  const std::string keys_ = temp_.path() + "/keys";
  sys::RealProcessRunner processes_;
  std::string said_;
};

// They were dropped by the next call that did not name them, and firmware that was given its keys
// after that did not start what they had signed.
TEST_F(SigningTest, CertificatesThatWereTrustedOnceStayTrusted) {
  EXPECT_EQ(Read("db.esl").find("of a card"), std::string::npos);
  std::ofstream(temp_.path() + "/card.der") << "of a card";
  ASSERT_OK(Make({.folder = keys_, .loader = "", .trusted = {temp_.path() + "/card.der"}}));
  const std::string trusted = Read("db.esl");
  EXPECT_THAT(trusted, HasSubstr("of a card"));
  fs::remove(temp_.path() + "/card.der");
  ASSERT_OK(Make({.folder = keys_, .loader = "", .trusted = {}}));
  EXPECT_EQ(Read("db.esl"), trusted);
  for (const fs::directory_entry& each : fs::directory_iterator(keys_ + "/trusted"))
    fs::remove(each.path());
  // An editor's copy or a note is no certificate.
  std::ofstream(keys_ + "/trusted/card.der~") << "of a card";
  ASSERT_OK(Make({.folder = keys_, .loader = "", .trusted = {}}));
  EXPECT_EQ(Read("db.esl").find("of a card"), std::string::npos);
}

TEST_F(SigningTest, ARevokedImageIsInWhatFirmwareAddsAndIsNotSignedAgain) {
  ASSERT_OK(Sign(Image()));
  ASSERT_OK(Sign(Image()));
  ASSERT_EQ(Lines("signed").size(), 1u);
  const std::string digest = Lines("signed")[0].substr(0, 64);
  EXPECT_EQ(Lines("signed")[0], digest + " - " + Image());
  for (const char* said : {"is revoked", "was revoked before"}) {
    said_.clear();
    ASSERT_OK(Revoke({"worker@11111111"}));
    EXPECT_THAT(said_, AllOf(HasSubstr("worker@111111111111 "), HasSubstr(said),
                             HasSubstr("role boot_revocations")));
    // EFI_SIGNATURE_LIST of one SHA-256: a head of 28 bytes, its owner of 16, the digest.
    EXPECT_EQ(Read("dbx.esl").substr(44), absl::HexStringToBytes(digest));
    // The attributes: those of keys, and that it is added.
    EXPECT_THAT(Read("dbx.auth"), StartsWith(std::string("\x67\0\0\0", 4)));
    EXPECT_THAT(Read("dbx.auth"), HasSubstr(Read("dbx.esl")));
    EXPECT_THAT(Told(), ElementsAre(digest + " - worker@111111111111"));
  }
  EXPECT_THAT(Sign(Image()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("was revoked")));
  // Neither another signing of it, nor the same under another name.
  EXPECT_EQ(Sign(Image(), kEfiLoader).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Sign("other.efi").code(), absl::StatusCode::kFailedPrecondition);
}

// A list is added to what firmware has, by other firmware than ours, too: the same entry has the
// same owner, and each list has all that was revoked before.
TEST_F(SigningTest, EachListHasAllThatWasRevoked) {
  ASSERT_OK(Sign(Image()));
  ASSERT_OK(Sign("worker@" + std::string(64, '2'), kEfiLoader));
  ASSERT_OK(Revoke({"worker@11111111"}));
  const std::string first = Read("dbx.esl");
  ASSERT_OK(Revoke({"worker@22222222"}));
  EXPECT_EQ(Read("dbx.esl").size(), 2 * first.size());
  EXPECT_THAT(Read("dbx.esl"), StartsWith(first));
  EXPECT_EQ(Told().size(), 2u);
}

// The ledger had what firmware was never given.
TEST_F(SigningTest, AFolderThatLacksAKeyRevokesNothing) {
  ASSERT_OK(Sign(Image()));
  for (const char* what : {"key", "pem", "der"}) fs::remove(keys_ + "/db." + what);
  EXPECT_THAT(Revoke({"worker@11111111"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("has no db.key")));
  EXPECT_FALSE(fs::exists(keys_ + "/revoked"));
  EXPECT_FALSE(fs::exists(keys_ + "/dbx.auth"));
}

// It was signed first, and the message named a file that was gone.
TEST_F(SigningTest, ANameWithBlanksIsRefusedByThisName) {
  EXPECT_THAT(Sign("my loader.efi", temp_.path() + "/missing.efi"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'my loader.efi'")));
  EXPECT_THAT(Revoke({temp_.path() + "/my loader.efi"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'my loader.efi'")));
}

// Each call signed the list anew, in which the time is, so that every node got another file.
TEST_F(SigningTest, WhatWasRevokedBeforeChangesNoFile) {
  ASSERT_OK(Sign(Image()));
  ASSERT_OK(Sign("worker@" + std::string(64, '2'), kEfiLoader));
  ASSERT_OK(Revoke({"worker@11111111", "worker@22222222"}));
  const std::string revoked = Read("revoked"), told = Read("dbx.list"), auth = Read("dbx.auth");
  const auto written = fs::last_write_time(keys_ + "/dbx.auth");
  ASSERT_OK(Revoke({"worker@11111111"}));
  EXPECT_EQ(Read("revoked"), revoked);
  EXPECT_EQ(Read("dbx.list"), told);
  EXPECT_EQ(fs::last_write_time(keys_ + "/dbx.auth"), written);
  // A call that was cut off has left the list without its signature, or a part of that.
  fs::resize_file(keys_ + "/dbx.auth", auth.size() / 2);
  ASSERT_OK(Revoke({"worker@11111111"}));
  EXPECT_EQ(Read("dbx.auth").size(), auth.size());
  fs::remove(keys_ + "/dbx.auth");
  ASSERT_OK(Revoke({"worker@11111111"}));
  EXPECT_EQ(Read("dbx.auth").size(), auth.size());
}

// It stayed bootable by its other name, and could be signed anew under a third.
TEST_F(SigningTest, WhatElseBootsARevokedRootIsNamedAndNotSigned) {
  const std::string root = "muster.sha256=" + std::string(64, 'a');
  const std::string other = "copy@" + std::string(64, '2');
  ASSERT_OK(Sign(Image(), Joined(root)));
  ASSERT_OK(Sign(other, Joined(root + " quiet")));
  ASSERT_OK(Revoke({"worker@11111111"}));
  EXPECT_THAT(said_, HasSubstr("copy@222222222222 boots the same root as worker@111111111111"));
  said_.clear();
  ASSERT_OK(Revoke({"copy@22222222"}));
  EXPECT_THAT(said_, Not(HasSubstr("the same root")));
  EXPECT_THAT(Sign("third@" + std::string(64, '3'), Joined(root + " splash")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("the same root"), HasSubstr("worker@111111111111"))));
  EXPECT_EQ(Lines("signed").size(), 2u);
  ASSERT_OK(Sign("third@" + std::string(64, '3'), Joined("muster.sha256=" + std::string(64, 'b'))));
}

// Machines start by it.
TEST_F(SigningTest, ALoaderStaysWhereItsSuccessorIsRefused) {
  const std::string loader = "loader-of-ours.efi", path = keys_ + "/" + loader;
  const auto give_out = [&](const std::string& program) {
    return SignProgram(keys_, loader, program, path, processes_);
  };
  ASSERT_OK(give_out(kEfiStub));
  ASSERT_OK(give_out(kEfiLoader));
  ASSERT_OK(Revoke({loader}));
  const std::string good = Read(loader);
  EXPECT_EQ(give_out(kEfiStub).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Read(loader), good);
  EXPECT_FALSE(fs::exists(path + ".new"));
  EXPECT_FALSE(give_out(keys_ + "/db.pem").ok());
  EXPECT_EQ(Read(loader), good);
  EXPECT_FALSE(fs::exists(path + ".new"));
}

TEST_F(SigningTest, TheLoaderByWhichMachinesStartIsNotRevoked) {
  ASSERT_OK(Make({.folder = keys_, .loader = kEfiLoader, .trusted = {}}));
  const std::string loader = fs::path(kEfiLoader).filename();
  EXPECT_EQ(Revoke({loader}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Revoke({keys_ + "/" + loader}).code(), absl::StatusCode::kFailedPrecondition);
  // Also where the ledger is younger than it, and by another name.
  fs::remove(keys_ + "/signed");
  fs::copy(keys_ + "/" + loader, temp_.path() + "/BOOTX64.EFI");
  for (const std::string& path : {keys_ + "/" + loader, temp_.path() + "/BOOTX64.EFI"})
    EXPECT_THAT(Revoke({path}, /*force=*/true),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("machines start by")));
  EXPECT_FALSE(fs::exists(keys_ + "/revoked"));

  ASSERT_OK(Sign(loader, kEfiStub));
  ASSERT_OK(Make({.folder = keys_, .loader = kEfiLoader, .trusted = {}}));
  ASSERT_OK(Revoke({loader}));
  EXPECT_EQ(Lines("revoked").size(), 1u);
}

TEST_F(SigningTest, TheBootLoaderOfDisksIsRevokedByForceAlone) {
  ASSERT_OK(Sign("loader.efi", kEfiStub));
  ASSERT_OK(Sign("loader.efi", kEfiLoader));
  EXPECT_THAT(Revoke({"loader.efi"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--force")));
  EXPECT_FALSE(fs::exists(keys_ + "/revoked"));
  ASSERT_OK(Revoke({"loader.efi"}, /*force=*/true));
  EXPECT_EQ(Lines("revoked"), std::vector<std::string>{Lines("signed")[0]});
}

// On a disk it has another name.
TEST_F(SigningTest, AFileThatMayBeTheBootLoaderOfDisksIsRevokedByForceAlone) {
  ASSERT_OK(Sign("loader.efi", kEfiLoader));
  fs::remove(keys_ + "/signed");
  fs::rename(temp_.path() + "/signed.efi", temp_.path() + "/BOOTX64.EFI");
  EXPECT_THAT(Revoke({temp_.path() + "/BOOTX64.EFI"}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--force")));
  EXPECT_FALSE(fs::exists(keys_ + "/revoked"));
  ASSERT_OK(Revoke({temp_.path() + "/BOOTX64.EFI"}, /*force=*/true));
  EXPECT_EQ(Lines("revoked").size(), 1u);
}

TEST_F(SigningTest, WhatIsOlderThanTheLedgerIsRevokedByItsFile) {
  ASSERT_OK(Sign(Image(), Joined("muster.sha256=" + std::string(64, 'a'))));
  const std::string known = Lines("signed")[0];
  fs::rename(temp_.path() + "/signed.efi", temp_.path() + "/old.efi");
  fs::remove(keys_ + "/signed");
  EXPECT_EQ(Revoke({"worker@11111111"}).code(), absl::StatusCode::kNotFound);
  ASSERT_OK(Revoke({temp_.path() + "/old.efi"}));
  EXPECT_EQ(Lines("revoked"), std::vector<std::string>{known.substr(0, 130) + "old.efi"});
  // What these keys have not signed is none of theirs.
  EXPECT_FALSE(Revoke({kEfiStub}).ok());
}

}  // namespace
}  // namespace muster::cli
