// Root applies resources in a folder whose owner keeps replacing its parts by links. Whatever
// happens to the user's own things: nothing else changes, and nothing of root's is revealed.
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "agent/resources/types.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"
#include "muster/v1/plan.pb.h"
#include "tests/fakes/fake_node.h"
#include "tests/fixtures/raw_archive.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;
using ::muster::testing::MakeRawArchive;

constexpr uid_t kUser = 64997;
constexpr char kSecret[] = "root:the-secret";
constexpr uint64_t kLeastSwaps = 100;
constexpr int kLeastApplied = 5;

struct Case {
  const char* name;
  // Steps that are applied in turn; %p is the path below, %h the folder two levels above it.
  std::vector<std::string> steps;
  const char* folder = "e";       // in %h
  const char* target = "target";  // in the folder
  bool is_directory = false;      // type of root's own entry of that name elsewhere
};

std::vector<Case> Cases() {
  const std::string owned = "owner: '64997' group: '64997'";
  return {
      {"file",
       {"file { path: '%p' content: 'one' mode: 0644 " + owned + "}",
        "file { path: '%p' content: 'two' mode: 0600 validate: ['grep', 'two', '%s'] }"}},
      {"file_if_missing",
       {"file { path: '%p' content: 'x' only_if_missing: true mode: 0666 " + owned + "}"}},
      {"line",
       {"line { path: '%p' line: 'one' create: true }",
        "line { path: '%p' line: 'one' state: PRESENCE_ABSENT "
        "validate: ['grep', '-vn', 'never', '%s'] }"}},
      {"directory",
       {"directory { path: '%p' mode: 0777 " + owned + "}",
        "directory { path: '%p' mode: 0750 owner: '0' group: '0' }",
        "directory { path: '%p' state: PRESENCE_ABSENT }"},
       "e",
       "target",
       true},
      {"directory_recursive",
       {"directory { path: '%p/a/b' mode: 0777 " + owned + "}",
        "directory { path: '%p' state: PRESENCE_ABSENT recursive: true }"},
       "e",
       "target",
       true},
      {"symlink",
       {"symlink { path: '%p' target: 'one' }", "symlink { path: '%p' target: 'two' }",
        "symlink { path: '%p' state: PRESENCE_ABSENT }"}},
      {"download",
       {"download { path: '%p' urls: 'http://h/a' sha256: '%a' mode: 0666 " + owned + "}",
        "download { path: '%p' urls: 'http://h/b' sha256: '%b' mode: 0600 }"}},
      {"archive",
       {"archive { path: '%p' urls: 'http://h/a' sha256: '%1' " + owned + "}",
        "archive { path: '%p' urls: 'http://h/b' sha256: '%2' }",
        "archive { path: '%p' state: PRESENCE_ABSENT }"},
       "e",
       "target",
       true},
      {"files_in",
       {"files_in { path: '%p' purge: true files { name: 'a' content: 'one' } mode: "
        "0666 " +
            owned + "}",
        "files_in { path: '%p' purge: true files { name: 'b' content: 'two' } }"},
       "e",
       "target",
       true},
      {"user",
       {"user { name: 'u' home: '%h' authorized_keys: 'one' }",
        "user { name: 'u' home: '%h' authorized_keys: 'two' }"},
       ".ssh",
       "authorized_keys"},
  };
}

// The state of everything that must not change, byte for byte and instant for instant.
std::string Fingerprint(const fs::path& root) {
  std::ostringstream text;
  std::vector<fs::path> paths = {root};
  for (const auto& entry : fs::recursive_directory_iterator(root)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    struct stat info = {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    text << path.string() << " " << std::oct << info.st_mode << std::dec << " " << info.st_uid
         << ":" << info.st_gid << " " << info.st_nlink << " changed " << info.st_ctim.tv_sec << "."
         << info.st_ctim.tv_nsec;
    if (S_ISREG(info.st_mode)) text << " '" << std::ifstream(path).rdbuf() << "'";
    text << "\n";
  }
  return text.str();
}

// The user. `home` holds d/<folder>/<target>; `elsewhere` holds the same names, and is root's.
class Attacker {
 public:
  Attacker(std::string home, std::string elsewhere, const Case& c, std::atomic<uint64_t>& swaps)
      : home_(std::move(home)), elsewhere_(std::move(elsewhere)), case_(c), swaps_(swaps) {
    folder_ = absl::StrCat(home_, "/d/", case_.folder);
    target_ = absl::StrCat(folder_, "/", case_.target);
  }

  [[noreturn]] void Run() {
    if (::setgroups(0, nullptr) != 0 || ::setgid(kUser) != 0 || ::setuid(kUser) != 0) ::_exit(1);
    ::umask(0);
    const std::string links = home_ + "/links";
    ::mkdir(links.c_str(), 0755);
    ::mkdir((home_ + "/d").c_str(), 0755);
    ::mkdir(folder_.c_str(), 0755);
    const std::string there = absl::StrCat(elsewhere_, "/", case_.folder);
    ::symlink(elsewhere_.c_str(), (links + "/d").c_str());
    ::symlink(there.c_str(), (links + "/folder").c_str());
    ::symlink(absl::StrCat(there, "/", case_.target).c_str(), (links + "/target").c_str());
    ::symlink(absl::StrCat(there, "/", case_.target).c_str(), (links + "/temporary").c_str());
    ::mkdir((links + "/own").c_str(), 0755);
    ::symlink(elsewhere_.c_str(), (links + "/own/tree").c_str());
    while (true) {
      for (int i = 0; i < 8; ++i) Twice(home_ + "/d", links + "/d");
      for (int i = 0; i < 8; ++i) Twice(folder_, links + "/folder");
      for (int i = 0; i < 8; ++i) Twice(target_, links + "/target");
      for (int i = 0; i < 4; ++i) SwapTemporaries(links);
      // Restores a beginning.
      ::mkdir((home_ + "/d").c_str(), 0755);
      ::mkdir(folder_.c_str(), 0755);
      if (Random() % 16 == 0) ::rmdir(target_.c_str());
      if (Random() % 16 == 0) ::unlink(target_.c_str());
      if (Random() % 16 == 0)
        ::symlink(absl::StrCat(there, "/", case_.target).c_str(), target_.c_str());
    }
  }

 private:
  uint64_t Random() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    return random_ ^= random_ << 17;
  }
  void Swap(const std::string& a, const std::string& b) {
    if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) ++swaps_;
  }
  void Twice(const std::string& a, const std::string& b) {
    Swap(a, b);
    for (uint64_t wait = Random() % 2000; wait > 0; --wait) asm volatile("");
    Swap(a, b);
    for (uint64_t wait = Random() % 2000; wait > 0; --wait) asm volatile("");
  }
  // Swaps the files that root is just writing, or unpacks to.
  void SwapTemporaries(const std::string& links) {
    for (const std::string& in : {folder_, target_}) {
      DIR* const directory = ::opendir(in.c_str());
      if (directory == nullptr) continue;
      while (const dirent* entry = ::readdir(directory)) {
        const std::string name = entry->d_name;
        if (!absl::StrContains(name, ".muster")) continue;
        const std::string own = Random() % 2 == 0 ? "/temporary" : "/own";
        Swap(absl::StrCat(in, "/", name), links + own);
        for (uint64_t wait = Random() % 5000; wait > 0; --wait) asm volatile("");
        if (Random() % 2 == 0) Swap(absl::StrCat(in, "/", name), links + own);
      }
      ::closedir(directory);
    }
  }

  const std::string home_, elsewhere_;
  const Case& case_;
  std::atomic<uint64_t>& swaps_;
  std::string folder_, target_;
  uint64_t random_ = 88172645463325252;
};

class PathRaceTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, whose hand is to be led astray";
    node_.accounts.users["u"] = {.name = "u", .uid = kUser, .gid = kUser, .home = Path("home/d")};
    ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
    for (const std::string& name :
         {std::string("home"), std::string("home/d"), absl::StrCat("home/d/", GetParam().folder)}) {
      ASSERT_EQ(::mkdir(Path(name).c_str(), 0755), 0);
      ASSERT_EQ(::chown(Path(name).c_str(), kUser, kUser), 0);
    }
    const fs::path folder = fs::path(Path("elsewhere")) / GetParam().folder;
    const fs::path target = folder / GetParam().target;
    fs::create_directories(GetParam().is_directory ? target / "a" : folder);
    for (const fs::path& file :
         {folder / "shadow", folder / "su", GetParam().is_directory ? target / "b" : target}) {
      std::ofstream(file) << kSecret << "\n";
      fs::permissions(file, static_cast<fs::perms>(0600));
    }
    ASSERT_EQ(::chmod((folder / "su").c_str(), 04755), 0);
    void* const shared = ::mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    swaps_ = new (shared) std::atomic<uint64_t>(0);
  }
  void TearDown() override {
    if (swaps_ != nullptr) ::munmap(swaps_, sizeof(*swaps_));
  }

  std::string Path(const std::string& name) { return dir_.path() + "/" + name; }
  static std::chrono::duration<double> Seconds() {
    const char* const text = ::getenv("MUSTER_RACE_SECONDS");
    double seconds = 5;
    EXPECT_TRUE(text == nullptr || absl::SimpleAtod(text, &seconds));
    return std::chrono::duration<double>(seconds);
  }
  std::vector<v1::Step> Steps() {
    const std::string old_tree = node_.blobs.Add(
        MakeRawArchive({{.path = "a", .content = "1"}, {.path = "sub/b", .content = "2"}}));
    const std::string new_tree = node_.blobs.Add(
        MakeRawArchive({{.path = "a", .content = "3"}, {.path = "sub/c/d", .content = "4"}}));
    std::vector<v1::Step> steps;
    for (const std::string& text : GetParam().steps) {
      v1::Step step;
      EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
          absl::StrReplaceAll(text, {{"%p", absl::StrCat(Path("home/d"), "/", GetParam().folder,
                                                         "/", GetParam().target)},
                                     {"%h", Path("home/d")},
                                     {"%a", node_.blobs.Add("content a")},
                                     {"%b", node_.blobs.Add("content b, longer")},
                                     {"%1", old_tree},
                                     {"%2", new_tree}}),
          &step))
          << text;
      step.set_step_id("role/task");
      steps.push_back(std::move(step));
    }
    return steps;
  }
  // A check reveals nothing that only root may read.
  void Apply(const v1::Step& step) {
    const auto resource = MakeResource(step, context_, /*want_diff=*/true);
    ASSERT_OK(resource);
    const auto changes = (*resource)->Check();
    const std::vector<Change> shown = changes.ok() ? *changes : std::vector<Change>();
    for (const Change& change : shown) {
      ASSERT_FALSE(absl::StrContains(absl::StrCat(change.before, change.diff), "the-secret"))
          << change.diff;
    }
    if ((*resource)->Apply(observer_).ok()) ++applied_;
  }

  muster::testing::TempDir dir_, state_;
  sys::RealFileSystem files_;
  sys::RealProcessRunner processes_;
  muster::testing::FakeNode node_;
  ResourceRecords records_{state_.path(), files_};
  ResourceContext context_{files_,      processes_, node_.units, node_.packages, node_.accounts,
                           node_.blobs, records_,   node_.clock, node_.disks};
  muster::testing::RecordingObserver observer_;
  std::atomic<uint64_t>* swaps_ = nullptr;
  int applied_ = 0;
};

TEST_P(PathRaceTest, LeadsRootNowhereElse) {
  const std::vector<v1::Step> steps = Steps();
  const std::string before = Fingerprint(Path("elsewhere"));
  const pid_t attacker = ::fork();
  ASSERT_GE(attacker, 0);
  if (attacker == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Attacker(Path("home"), Path("elsewhere"), GetParam(), *swaps_).Run();
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + Seconds();
  // On a busy machine a while longer, until something was shown.
  const auto shown = [this] { return swaps_->load() >= kLeastSwaps && applied_ >= kLeastApplied; };
  while (!HasFailure() &&
         (Clock::now() < end || (!shown() && Clock::now() < end + std::chrono::seconds(20)))) {
    for (const v1::Step& step : steps) Apply(step);
    observer_ = {};
  }
  ::kill(attacker, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(attacker, &status, 0), attacker);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the attacker could not begin";

  EXPECT_EQ(Fingerprint(Path("elsewhere")), before);
  for (const auto& entry : fs::recursive_directory_iterator(Path("home"))) {
    if (!entry.is_regular_file() || entry.is_symlink()) continue;
    std::ostringstream content;
    content << std::ifstream(entry.path()).rdbuf();
    EXPECT_FALSE(absl::StrContains(content.str(), "the-secret")) << entry.path();
  }
  EXPECT_GE(swaps_->load(), kLeastSwaps);
  EXPECT_GE(applied_, kLeastApplied);
  RecordProperty("swaps", static_cast<int>(swaps_->load()));
  RecordProperty("applied", applied_);
}

INSTANTIATE_TEST_SUITE_P(AllThatWrite, PathRaceTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace muster::agent
