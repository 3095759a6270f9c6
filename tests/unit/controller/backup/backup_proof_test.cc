// Damage to a backup is found; changing it, or owning the folders of a restore, gains an attacker
// nothing.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/pki/authority.h"
#include "common/pki/key.h"
#include "common/sys/archive/archive_file.h"
#include "controller/backup/backup.h"
#include "controller/backup/backup_keys.h"
#include "controller/backup/backup_manifest.h"
#include "controller/backup/backup_paths.h"
#include "controller/store/soci/store.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

// What a rollback journal begins and ends with, https://www.sqlite.org/fileformat.html.
constexpr char kJournalMagic[] = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
constexpr uint32_t kPageBytes = 4096;
constexpr uint32_t kSectorBytes = 512;
constexpr uint32_t kLockPage = 0x40000000 / kPageBytes + 1;

std::string BigEndian(uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

// Forges a journal of the store at `path`. Whoever opens the store rolls it back, which changes
// nothing, and then removes `victim`, as the list of the journals of a transaction that has ended.
void ForgeJournal(const std::filesystem::path& path, const std::filesystem::path& victim) {
  const uintmax_t pages = std::filesystem::file_size(path) / kPageBytes;
  std::string journal = absl::StrCat(kJournalMagic, BigEndian(0), BigEndian(0),
                                     BigEndian(static_cast<uint32_t>(pages)),
                                     BigEndian(kSectorBytes), BigEndian(kPageBytes));
  journal.resize(kSectorBytes);
  const std::string name = victim.string();
  uint32_t sum = 0;
  for (const char byte : name) sum += static_cast<uint32_t>(byte);
  absl::StrAppend(&journal, BigEndian(kLockPage), name,
                  BigEndian(static_cast<uint32_t>(name.size())), BigEndian(sum), kJournalMagic);
  std::ofstream(path.string() + "-journal", std::ios::binary) << journal;
}

// A controller's folders, without a controller.
class BackupProofTest : public ::testing::Test {
 protected:
  BackupProofTest() : folder_(dir_.path()) {
    const pki::Authority authority = pki::MakeCa("test", absl::Hours(24), absl::Now()).value();
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr("controller").value();
    std::filesystem::create_directories(folder_ / "pki");
    std::filesystem::create_directories(state());
    Write("pki/ca.crt", authority.certificate_pem);
    Write("pki/ca.key", authority.key);
    Write("pki/controller.crt", authority.certificate_pem);
    Write("pki/controller.key", key.key_pem);
    Write("controller.yaml",
          absl::StrCat("cluster: test\ncontroller_address: localhost:7443\npki_directory: ",
                       (folder_ / "pki").string(), "\nstate_directory: ", state().string(), "\n"));
    const std::unique_ptr<Store> store = OpenStore((state() / "muster.db").string()).value();
    EXPECT_OK(store->Update([](Transaction& txn) { return Note(txn, "inventory.apply"); }));
    file_ = (folder_ / "backup.tgz").string();
  }

  std::filesystem::path state() const { return folder_ / "state"; }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  BackupOptions Options(bool with_passphrase = true, bool force = false) {
    BackupOptions options;
    options.config_path = (folder_ / "controller.yaml").string();
    if (with_passphrase) options.passphrase = SecretBuffer("correct horse battery");
    options.force = force;
    return options;
  }
  // As musterd's account owns its folder.
  void GiveStateAway() {
    namespace fs = std::filesystem;
    fs::permissions(folder_, fs::perms(0755));
    ASSERT_EQ(lchown(state().c_str(), 65534, 65534), 0);
    for (const auto& entry : fs::recursive_directory_iterator(state()))
      ASSERT_EQ(lchown(entry.path().c_str(), 65534, 65534), 0);
  }
  static absl::Status Note(Transaction& txn, const std::string& what) {
    EventRecord event;
    event.time = absl::UnixEpoch();
    event.actor = "admin:alice";
    event.action = what;
    return txn.events().Append(event);
  }
  std::string LastAction() {
    std::string action;
    const std::unique_ptr<Store> store = OpenStore((state() / "muster.db").string()).value();
    EXPECT_OK(store->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<EventRecord> last, txn.events().List(1, 0));
      action = last.at(0).action;
      return absl::OkStatus();
    }));
    return action;
  }
  // The contents of a backup, by name.
  std::map<std::string, std::string> Entries(const std::string& path) {
    std::map<std::string, std::string> entries;
    EXPECT_OK(sys::ReadArchiveFile(
        path, [&](const std::string& name, uint64_t, const sys::ReadPiece& read) -> absl::Status {
          while (true) {
            ASSIGN_OR_RETURN(const absl::string_view piece, read());
            if (piece.empty()) return absl::OkStatus();
            entries[name].append(piece.data(), piece.size());
          }
        }));
    return entries;
  }
  // The backup with one bit of the byte `at` turned over.
  std::string Damaged(uintmax_t at) {
    const std::string path = (folder_ / "bad.tgz").string();
    std::filesystem::copy_file(file_, path, std::filesystem::copy_options::overwrite_existing);
    std::fstream bad(path, std::ios::in | std::ios::out | std::ios::binary);
    bad.seekg(static_cast<std::streamoff>(at));
    const char was = static_cast<char>(bad.get());
    bad.seekp(static_cast<std::streamoff>(at));
    bad.put(static_cast<char>(was ^ 0x10));
    return path;
  }
  // Writes them in their original form; the manifest fits them.
  std::string Pack(std::map<std::string, std::string> entries, const std::string& name) {
    BackupManifest manifest = ParseManifest(entries["manifest.json"]).value();
    manifest.has_keys = entries.count("keys.sealed") > 0;
    for (auto& [entry, measured] : manifest.entries)
      measured = {entries[entry].size(), Sha256Hex(entries[entry])};
    entries["manifest.json"] = ManifestToJson(manifest);
    const std::string path = (folder_ / name).string();
    const auto archive = sys::ArchiveFileWriter::Create(path).value();
    for (const char* first : {"manifest.json", "keys.sealed"}) {
      const auto found = entries.find(first);
      if (found == entries.end()) continue;
      EXPECT_OK(archive->AddText(first, found->second));
      entries.erase(found);
    }
    for (const auto& [entry, content] : entries) EXPECT_OK(archive->AddText(entry, content));
    EXPECT_OK(archive->Finish());
    return path;
  }
  // The store of a backup, with an added entry of the thief.
  std::string Changed(const std::string& store) {
    const std::string path = (folder_ / "changed.db").string();
    std::ofstream(path, std::ios::binary) << store;
    {
      const std::unique_ptr<Store> open = OpenStore(path).value();
      EXPECT_OK(open->Update([](Transaction& txn) { return Note(txn, "eve was here"); }));
    }
    std::ifstream in(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }

  muster::testing::TempDir dir_;
  const std::filesystem::path folder_;
  RealClock clock_;
  std::string file_;
};

// Also without the passphrase. About one bit in a thousand of a compressed file changes nothing of
// its content, as where zeros are copied from other zeros.
TEST_F(BackupProofTest, DamageIsFoundWhereItChangesAnything) {
  ASSERT_OK(CreateBackup(file_, Options(), clock_));
  const std::map<std::string, std::string> entries = Entries(file_);
  const uintmax_t size = std::filesystem::file_size(file_);
  constexpr int kPlaces = 100;
  int found = 0;
  for (int place = 1; place < kPlaces; ++place) {
    const std::string bad = Damaged(size * place / kPlaces);
    if (VerifyBackup(bad, Options(/*with_passphrase=*/false)).ok()) {
      EXPECT_EQ(Entries(bad), entries) << place;
    } else {
      ++found;
    }
  }
  EXPECT_GT(found, kPlaces * 9 / 10);
  std::filesystem::resize_file(file_, size / 2);
  EXPECT_FALSE(VerifyBackup(file_, Options()).ok());
}

// A backup that no passphrase proves.
TEST_F(BackupProofTest, NothingIsTakenForAPartOfTheStore) {
  ASSERT_OK(CreateBackup(file_, Options(/*with_passphrase=*/false), clock_));
  std::map<std::string, std::string> entries = Entries(file_);
  BackupManifest manifest = ParseManifest(entries["manifest.json"]).value();
  for (const char* name : {"store.db-journal", "store.db-wal"}) {
    std::map<std::string, std::string> more = entries;
    more[name] = "forged";
    BackupManifest changed = manifest;
    changed.entries[name] = {6, Sha256Hex("forged")};
    more["manifest.json"] = ManifestToJson(changed);
    EXPECT_THAT(VerifyBackup(Pack(more, absl::StrCat(name, ".tgz")), Options(false)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is in no backup")));
  }
}

// An attacker who can write where backups are stored, but does not know the passphrase.
TEST_F(BackupProofTest, AChangedStoreIsFoundThoughEveryDigestFits) {
  ASSERT_OK(CreateBackup(file_, Options(), clock_));
  std::map<std::string, std::string> entries = Entries(file_);
  ASSERT_OK(VerifyBackup(Pack(entries, "same.tgz"), Options()));
  entries["store.db"] = Changed(entries["store.db"]);
  const std::string changed = Pack(entries, "changed.tgz");
  ASSERT_OK(VerifyBackup(changed, Options(/*with_passphrase=*/false)));
  EXPECT_THAT(VerifyBackup(changed, Options()), StatusIs(absl::StatusCode::kDataLoss, Said()));
  EXPECT_THAT(RestoreBackup(changed, Options(true, /*force=*/true), clock_),
              StatusIs(absl::StatusCode::kDataLoss, Said()));

  // As if it had been made without keys.
  std::map<std::string, std::string> bare = entries;
  bare.erase("keys.sealed");
  EXPECT_THAT(RestoreBackup(Pack(bare, "bare.tgz"), Options(true, true), clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  // With the thief's own keys.
  entries["keys.sealed"] =
      SealKeys({{"pki/ca.key", "x"}}, SecretBuffer("a thief's passphrase")).value();
  EXPECT_THAT(RestoreBackup(Pack(entries, "keys.tgz"), Options(true, true), clock_),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_NE(LastAction(), "eve was here");
}

TEST_F(BackupProofTest, StagesWhereNobodyElseCanSwapFolders) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give folders away";
  namespace fs = std::filesystem;
  const fs::path root = fs::canonical(folder_);
  fs::create_directories(root / "own/service/state/deep");
  EXPECT_EQ(OwnFolderOnTheWayTo(root / "own/service/state"), root / "own/service/state");
  EXPECT_EQ(OwnFolderOnTheWayTo(root / "own/not yet/there"), root / "own");
  ASSERT_EQ(chown((root / "own/service").c_str(), 65534, 65534), 0);
  EXPECT_EQ(OwnFolderOnTheWayTo(root / "own/service/state/deep"), root / "own");
  ASSERT_EQ(chown((root / "own/service").c_str(), 0, 0), 0);
  fs::permissions(root / "own/service", fs::perms(0775));
  EXPECT_EQ(OwnFolderOnTheWayTo(root / "own/service/state"), root / "own");
  fs::permissions(root / "own/service", fs::perms(01777));
  EXPECT_EQ(OwnFolderOnTheWayTo(root / "own/service/state"), root / "own/service/state");
  fs::create_directory_symlink(root / "own/service/state", root / "link");
  EXPECT_EQ(OwnFolderOnTheWayTo(root / "link/deep"), root / "own/service/state/deep");
}

// musterd's account owns the state folder. Whatever it does there while root restores must not lead
// root elsewhere.
TEST_F(BackupProofTest, TheStateFoldersOwnerGetsNothingElseByARestore) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to act as another account";
  namespace fs = std::filesystem;
  ASSERT_OK(CreateBackup(file_, Options(), clock_));
  const fs::path victim = folder_ / "victim";
  fs::create_directory(victim);
  Write("victim/passwd", "root:x:0:0");
  const fs::path state = this->state();
  fs::permissions(folder_, fs::perms(0755));
  fs::permissions(state, fs::perms(0755));
  ASSERT_EQ(chown(state.c_str(), 65534, 65534), 0);
  const std::string attack = R"(
import os, sys, time
victim, end, n = sys.argv[1], time.time() + 60, 0
while time.time() < end:
    for name in os.listdir("."):
        if name.startswith("held") or os.path.islink(name): continue
        n += 1
        try:
            os.rename(name, "held%d" % n)
            os.symlink(victim + ("/passwd" if "." in name.lstrip(".") else ""), name)
        except OSError: pass
        time.sleep(0.0005)
    for name in os.listdir("."):
        if os.path.islink(name) and n % 7 == 0: os.unlink(name)
)";
  const pid_t attacker = fork();
  if (attacker == 0) {
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) _exit(1);
    if (chdir(state.c_str()) != 0) _exit(1);
    execl("/usr/bin/python3", "python3", "-c", attack.c_str(), victim.c_str(), nullptr);
    _exit(1);
  }
  int restored = 0;
  const absl::Time end = absl::Now() + absl::Seconds(5);
  for (int i = 0; i < 5 && absl::Now() < end; ++i)
    restored += RestoreBackup(file_, Options(true, /*force=*/true), clock_).ok();
  EXPECT_EQ(waitpid(attacker, nullptr, WNOHANG), 0) << "the attack ended by itself";
  kill(attacker, SIGKILL);
  waitpid(attacker, nullptr, 0);
  RecordProperty("restored", restored);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(victim)) names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::ElementsAre("passwd"));
  struct stat info;
  ASSERT_EQ(stat((victim / "passwd").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0u);
  EXPECT_EQ(info.st_size, 10);
  ASSERT_EQ(stat(victim.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0u);
  // Once the account leaves its folder alone, a restore works.
  fs::remove_all(state);
  EXPECT_OK(RestoreBackup(file_, Options(), clock_));
}

TEST_F(BackupProofTest, TheStateFoldersOwnerLeadsRootToNoOtherStore) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give folders away";
  namespace fs = std::filesystem;
  ASSERT_OK(CreateBackup(file_, Options(), clock_));
  const fs::path victim = folder_ / "victim";
  fs::create_directory(victim);
  Write("victim/empty", "");
  fs::rename(state() / "muster.db", victim / "other.db");
  fs::create_symlink(victim / "empty", state() / "muster.db");
  GiveStateAway();
  EXPECT_THAT(RestoreBackup(file_, Options(), clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_EQ(fs::file_size(victim / "empty"), 0u);

  fs::remove(state() / "muster.db");
  fs::create_symlink(victim / "other.db", state() / "muster.db");
  const std::string second = (folder_ / "second.tgz").string();
  EXPECT_FALSE(CreateBackup(second, Options(), clock_).ok());
  EXPECT_FALSE(fs::exists(second));
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(victim)) names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("empty", "other.db"));

  // The link is kept aside like any other store.
  EXPECT_OK(RestoreBackup(file_, Options(true, /*force=*/true), clock_));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(state() / "muster.db")));
  EXPECT_TRUE(fs::exists(victim / "other.db"));
}

TEST_F(BackupProofTest, TheStateFoldersOwnerHasRootRemoveNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give folders away";
  namespace fs = std::filesystem;
  ASSERT_OK(CreateBackup(file_, Options(), clock_));
  const fs::path victim = folder_ / "victim/passwd";
  fs::create_directory(folder_ / "victim");
  Write("victim/passwd", "root:x:0:0");
  // With the rights for it, SQLite removes the file.
  const fs::path control = folder_ / "control.db";
  ASSERT_OK(OpenStore(control.string()));
  ForgeJournal(control, victim);
  ASSERT_OK(OpenStore(control.string()));
  ASSERT_FALSE(fs::exists(victim));

  Write("victim/passwd", "root:x:0:0");
  ForgeJournal(state() / "muster.db", victim);
  GiveStateAway();
  EXPECT_OK(RestoreBackup(file_, Options(), clock_));
  EXPECT_TRUE(fs::exists(victim));
  EXPECT_FALSE(fs::exists(state() / "muster.db-journal"));

  ForgeJournal(state() / "muster.db", victim);
  GiveStateAway();
  const std::string second = (folder_ / "second.tgz").string();
  EXPECT_FALSE(CreateBackup(second, Options(), clock_).ok());
  EXPECT_TRUE(fs::exists(victim));
  // Once the account leaves its folder alone, a backup works.
  fs::remove(state() / "muster.db-journal");
  EXPECT_OK(CreateBackup(second, Options(), clock_));
  EXPECT_OK(VerifyBackup(second, Options()));
  for (const auto& entry : fs::directory_iterator(folder_))
    EXPECT_NE(entry.path().filename().string().rfind(".muster-backup-", 0), 0u) << entry.path();
}

}  // namespace
}  // namespace muster::controller
