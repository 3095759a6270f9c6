#include "controller/console/console_captures.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "controller/inventory/inventory.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::console {
namespace {

using ::muster::testing::FakeClock;
using ::muster::testing::FakeSecretSource;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kInventory[] = R"(
cluster: x
nodes:
  "c[1-100]": {role: compute, bmc_address: "10.1.0.[1-100]"}
  quiet: {role: compute, bmc_address: 10.1.0.200, vars: {bmc_console: false}}
vars: {bmc_protocol: ipmi, bmc_user: muster, bmc_password_secret: bmc, bmc_console: true}
)";

// The serial port of a machine, over all connections to its BMC. Thread-safe.
struct FakeConsole {
  absl::Mutex mutex;
  std::string unread ABSL_GUARDED_BY(mutex);
  absl::Status end ABSL_GUARDED_BY(mutex);  // of the line, once
  int opened ABSL_GUARDED_BY(mutex) = 0;
  int open ABSL_GUARDED_BY(mutex) = 0;

  void Write(const std::string& text) {
    absl::MutexLock lock(&mutex);
    unread += text;
  }
  void End(absl::Status why) {
    absl::MutexLock lock(&mutex);
    end = std::move(why);
  }
  int Open() {
    absl::MutexLock lock(&mutex);
    return open;
  }
  int Opened() {
    absl::MutexLock lock(&mutex);
    return opened;
  }
};

class FakeLine final : public ConsoleLine {
 public:
  explicit FakeLine(FakeConsole& console) : console_(console) {
    absl::MutexLock lock(&console_.mutex);
    ++console_.opened;
    ++console_.open;
  }
  ~FakeLine() override {
    absl::MutexLock lock(&console_.mutex);
    --console_.open;
  }
  absl::Status Read(size_t limit, std::string* bytes) override {
    absl::MutexLock lock(&console_.mutex);
    if (!console_.end.ok()) return std::exchange(console_.end, absl::OkStatus());
    bytes->append(console_.unread.substr(0, limit));
    console_.unread.erase(0, limit);
    is_established_ = true;
    return absl::OkStatus();
  }
  bool is_established() const override { return is_established_; }

 private:
  FakeConsole& console_;
  bool is_established_ = false;
};

class ConsoleCapturesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    secrets_.secrets["bmc"] = "hunter2\n";
    captures_.Start();
  }
  void TearDown() override { captures_.Stop(); }

  // Lets time pass until it is so, ten minutes of the clock at most.
  template <typename IsSo>
  bool Await(IsSo is_so) {
    for (int i = 0; i < 600; ++i) {
      if (is_so()) return true;
      clock_.Advance(absl::Seconds(1));
      absl::SleepFor(absl::Milliseconds(5));
    }
    return false;
  }
  ConsoleView View(const std::string& node = "c1", bool follows = false) {
    const absl::StatusOr<ConsoleView> view = captures_.Read(node, 0, 100, follows);
    EXPECT_OK(view.status());
    return view.ok() ? *view : ConsoleView();
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (const ConsoleRow& row : View().rows) texts.push_back(row.text);
    return texts;
  }
  void Connect(bool is_connected) {
    absl::MutexLock lock(&mutex_);
    is_connected_ = is_connected;
  }

  FakeClock clock_;
  FakeSecretSource secrets_;
  absl::Mutex mutex_;
  bool is_connected_ ABSL_GUARDED_BY(mutex_) = false;  // the agents of all nodes
  std::vector<std::string> passwords_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, FakeConsole> consoles_ ABSL_GUARDED_BY(mutex_);  // by address
  FakeConsole& console_ = consoles_["10.1.0.1"];                         // of c1
  std::shared_ptr<const Inventory> inventory_ =
      std::make_shared<const Inventory>(*ParseInventory({{"f", kInventory}}));
  ConsoleCaptures captures_{{
      .clock = clock_,
      .secrets = secrets_,
      .inventory = [this] { return inventory_; },
      .is_connected =
          [this](const std::string&) {
            absl::MutexLock lock(&mutex_);
            return is_connected_;
          },
      .open = [this](const BmcAccess& access,
                     const SecretBuffer& password) -> absl::StatusOr<std::unique_ptr<ConsoleLine>> {
        absl::MutexLock lock(&mutex_);
        passwords_.emplace_back(password.Reveal());
        return std::make_unique<FakeLine>(consoles_[access.address]);
      },
  }};
};

TEST_F(ConsoleCapturesTest, ABootIsReadUntilTheAgentIsBack) {
  Connect(true);  // as it still is in the first seconds of a reset
  captures_.OnBoot("c1");
  ASSERT_TRUE(Await([&] { return View().is_established; }));
  const absl::Time begun = clock_.Now();
  console_.Write("BIOS 1.2\r\nBooting from PXE\r\n");
  ASSERT_TRUE(Await([&] { return Texts().size() == 2; }));
  EXPECT_THAT(Texts(), ElementsAre("BIOS 1.2", "Booting from PXE"));
  Connect(false);
  console_.Write("c1 login: ");
  ASSERT_TRUE(Await([&] { return Texts().size() == 3; })) << "a prompt";
  clock_.Advance(ConsoleCaptures::kLook);
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(console_.Open(), 1);
  captures_.OnBootSeen("c1");  // told again and again, as long as it is away
  Connect(true);
  ASSERT_TRUE(Await([&] { return !View().is_read; }));
  EXPECT_LT(clock_.Now() - begun, absl::Minutes(8)) << "long before kOfBoot";
  EXPECT_EQ(console_.Open(), 0);
  EXPECT_THAT(Texts(), ElementsAre("BIOS 1.2", "Booting from PXE", "c1 login:"));
  EXPECT_THAT(secrets_.readers, Each("power"));
  absl::MutexLock lock(&mutex_);
  EXPECT_THAT(passwords_, Each("hunter2"));
}

TEST_F(ConsoleCapturesTest, WhoSaysThatANodeBootsDoesNotHaveItReadWhileItsAgentIsThere) {
  Connect(true);
  for (int i = 0; i < 3; ++i) captures_.OnBootSeen("c1");
  captures_.OnBoot("c2");
  ASSERT_TRUE(Await([&] { return View("c2").is_read; }));
  EXPECT_EQ(console_.Opened(), 0);
  Connect(false);
  captures_.OnBootSeen("c1");
  EXPECT_TRUE(Await([&] { return console_.Opened() == 1; }));
}

TEST_F(ConsoleCapturesTest, AMachineThatDoesNotComeUpIsLeftAfterAWhile) {
  captures_.OnBoot("c1");
  ASSERT_TRUE(Await([&] { return console_.Open() == 1; }));
  clock_.Advance(ConsoleCaptures::kOfBoot);
  EXPECT_TRUE(Await([&] { return !View().is_read; }));
  EXPECT_EQ(console_.Open(), 0);
}

TEST_F(ConsoleCapturesTest, AReaderHasItReadForAsLongAsHeAsks) {
  EXPECT_FALSE(View().is_read);
  for (int i = 0; i < 5; ++i) {
    View("c1", /*follows=*/true);
    console_.Write("line\n");
    ASSERT_TRUE(Await([&] { return console_.Open() == 1; }));
    clock_.Advance(absl::Seconds(20));
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(console_.Opened(), 1);
  EXPECT_TRUE(Await([&] { return !View().is_read; }));
  EXPECT_EQ(console_.Open(), 0);
}

TEST_F(ConsoleCapturesTest, WhatIsRefusedIsTriedAgainByANewReaderAndTheNextBootAlone) {
  console_.End(absl::UnauthenticatedError("the password is wrong"));
  captures_.OnBoot("c1");
  ASSERT_TRUE(Await([&] { return !View().trouble.empty(); }));
  EXPECT_EQ(View().trouble, "the password is wrong");
  console_.End(absl::UnauthenticatedError("it is still wrong"));
  for (int i = 0; i < 5; ++i) {
    View("c1", /*follows=*/true);
    ASSERT_TRUE(Await([&] { return View().trouble == "it is still wrong"; }));
    clock_.Advance(absl::Seconds(20));
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(console_.Opened(), 2) << "BMCs lock accounts";
  for (int i = 0; i < 5; ++i) {
    captures_.OnBootSeen("c1");
    clock_.Advance(absl::Seconds(20));
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(console_.Opened(), 2) << "whoever in the network says that it boots";
  captures_.OnBoot("c1");
  ASSERT_TRUE(Await([&] { return View().is_established; }));
  EXPECT_EQ(View().trouble, "");
}

TEST_F(ConsoleCapturesTest, ABmcThatRestartsIsReadAgain) {
  captures_.OnBoot("c1");
  ASSERT_TRUE(Await([&] { return View().is_established; }));
  console_.End(absl::UnavailableError("it stopped answering"));
  ASSERT_TRUE(Await([&] { return console_.Open() == 0; }));
  EXPECT_TRUE(Await([&] { return console_.Opened() == 2; }));
}

TEST_F(ConsoleCapturesTest, ASilentLineIsOpenedAnewAndNobodyNotices) {
  captures_.OnBoot("c1");
  ASSERT_TRUE(Await([&] { return View().is_established; }));
  for (int i = 0; i < 5; ++i) {
    console_.Write(absl::StrCat("line ", i, "\n"));
    ASSERT_TRUE(Await([&] { return Texts().size() == static_cast<size_t>(i) + 1; }));
    clock_.Advance(ConsoleCaptures::kSilence / 2);
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(console_.Opened(), 1);
  bool stayed = true;
  ASSERT_TRUE(Await([&] {
    stayed = stayed && View().is_read && View().is_established;
    return console_.Opened() == 2;
  }));
  EXPECT_TRUE(stayed);
}

TEST_F(ConsoleCapturesTest, NoMoreThanSoManyAtOnce) {
  for (int i = 1; i <= 100; ++i) captures_.OnBoot(absl::StrCat("c", i));
  const auto open = [&] {
    size_t sum = 0;
    for (int i = 1; i <= 100; ++i) sum += View(absl::StrCat("c", i)).is_read ? 1 : 0;
    return sum;
  };
  ASSERT_TRUE(Await([&] { return open() >= ConsoleCaptures::kMostOpen; }));
  EXPECT_EQ(open(), ConsoleCaptures::kMostOpen);
  const auto waiting = [&] {
    size_t sum = 0;
    for (int i = 1; i <= 100; ++i)
      sum += absl::StrContains(View(absl::StrCat("c", i)).trouble, "it waits") ? 1 : 0;
    return sum;
  };
  EXPECT_TRUE(Await([&] { return waiting() == 100 - ConsoleCaptures::kMostOpen; }));
  EXPECT_EQ(open(), ConsoleCaptures::kMostOpen);
}

TEST_F(ConsoleCapturesTest, OnlyWhereTheInventorySaysSo) {
  captures_.OnBoot("quiet");
  captures_.OnBoot("nobody");
  EXPECT_THAT(captures_.Read("quiet", 0, 1, true),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(captures_.Read("nobody", 0, 1, true), StatusIs(absl::StatusCode::kNotFound, Said()));
  secrets_.secrets.clear();
  captures_.OnBoot("c1");
  EXPECT_TRUE(Await([&] { return !View().trouble.empty(); }));
  EXPECT_THAT(View().trouble, HasSubstr("bmc"));
}

}  // namespace
}  // namespace muster::controller::console
