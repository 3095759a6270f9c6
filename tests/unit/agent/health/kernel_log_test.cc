// The kernel's log: its records, their numbers, and the conditions that they report.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/health/log_events.h"
#include "agent/health/log_reader.h"
#include "agent/health/log_record.h"
#include "common/health/catalogue.h"
#include "common/health/hold.h"
#include "common/health/kernel_message.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::agent::health {
namespace {

using muster::health::XidAction;

constexpr absl::Time kLoggedAt = absl::FromUnixSeconds(1'900'000'000);

TEST(LogRecord, IsReadFromALineOfKmsg) {
  const auto record = ParseLogRecord("6,339,5140900,-;NET: Registered; protocol family 10");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->sequence, 339u);
  EXPECT_EQ(record->since_boot, absl::Microseconds(5140900));
  EXPECT_EQ(record->text, "NET: Registered; protocol family 10");
  EXPECT_EQ(ParseLogRecord("6,339,5140900,-,caller=T1;x")->text, "x");
}

TEST(LogRecord, RefusesEverythingElse) {
  for (const char* line : {"", " SUBSYSTEM=acpi", "6,339", "6,339;x", "6,x,1,-;y", "-1,1,1,-;x",
                           "6,99999999999999999999999,1,-;x", ";", ",,,;", "no record at all"}) {
    EXPECT_FALSE(ParseLogRecord(line).has_value()) << line;
  }
  // The largest numbers overflow nothing.
  EXPECT_TRUE(ParseLogRecord("6,18446744073709551615,18446744073709551615,-;x").has_value());
}

TEST(LogPosition, CountsWhatIsMissingAndSkipsWhatWasRead) {
  LogPosition position(100);
  EXPECT_FALSE(position.Take(99));
  EXPECT_FALSE(position.Take(100));
  EXPECT_TRUE(position.Take(101));
  EXPECT_EQ(position.lost(), 0u);
  EXPECT_TRUE(position.Take(151));
  EXPECT_EQ(position.lost(), 49u);
  // What came before an agent's first record was lost by nobody.
  LogPosition fresh;
  EXPECT_TRUE(fresh.Take(5000));
  EXPECT_EQ(fresh.lost(), 0u);
}

std::optional<Event> Read(absl::string_view text, const XidActions& actions = {}) {
  return ReadEvent(text, kLoggedAt, actions, [](absl::string_view slot) {
    return absl::StartsWith("0000:3b:00.0", slot) ? "GPU-1" : "";
  });
}

TEST(LogEvents, XidsTurnTheirConditionBad) {
  const auto event = Read("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.");
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->condition, "gpu_xid");
  EXPECT_EQ(event->object, "GPU-1");
  EXPECT_EQ(event->until, absl::InfiniteFuture());
  EXPECT_EQ(event->since, kLoggedAt);
  EXPECT_EQ(Read("NVRM: Xid (PCI:0000:af:00): 79, x")->object, "0000:af:00");
  EXPECT_EQ(Read("NVRM: Xid (PCI:0000:3b:00): 74, x")->condition, "nvlink_error");
  EXPECT_EQ(Read("NVRM: Xid (PCI:0000:3b:00): 999, x")->condition, "gpu_xid_watch");
  // A job's own fault.
  EXPECT_FALSE(Read("NVRM: Xid (PCI:0000:3b:00): 31, x").has_value());
}

TEST(LogEvents, AnXidOfAnInstanceIsOneOfItsGpu) {
  const auto event = Read("NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 79, pid=7, GPU lost");
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->condition, "gpu_xid");
  EXPECT_EQ(event->object, "GPU-1");
  EXPECT_TRUE(absl::StrContains(event->evidence, "GPU-I:05"));
}

TEST(LogEvents, TheGravityFollowsWhatAnXidAsksFor) {
  const auto gravity = [](int xid, const XidActions& actions = {}) {
    return Read(absl::StrCat("NVRM: Xid (PCI:0000:3b:00): ", xid, ", a; b): c"), actions)->gravity;
  };
  EXPECT_LT(gravity(95), gravity(79));
  EXPECT_LT(gravity(79), gravity(54));
  EXPECT_LT(gravity(79, {{79, XidAction::kResetGpu}}), gravity(79));
  EXPECT_EQ(GravityOf("NVRM: GPU at PCI:0000:3b:00: GPU has fallen off the bus."), gravity(79));
  EXPECT_EQ(GravityOf("Out of memory: Killed process 17"), 0);
  EXPECT_EQ(GravityOf("Xid 79 (cut off"), 0);
}

TEST(LogEvents, TheSiteMayKnowBetter) {
  EXPECT_FALSE(Read("NVRM: Xid (PCI:0000:3b:00): 79, x", {{79, XidAction::kIgnore}}).has_value());
  EXPECT_EQ(Read("NVRM: Xid (PCI:0000:3b:00): 31, x", {{31, XidAction::kReboot}})->condition,
            "gpu_xid");
}

TEST(LogEvents, ProgramsCannotPassForTheDriver) {
  // Their names have at most 15 characters, and crash as they like.
  for (const char* line :
       {"NVRM: Xid (): 7[12]: segfault at 0 ip 0", "NVRM: Xid (a): [12]: segfault",
        "EDAC MC0: 1 UE [3]: segfault at 0", "kernel BUG at [4]: segfault",
        "soft lockup[5]: segfault at 0", "AER: Uncorrect[6]: segfault"}) {
    EXPECT_FALSE(Read(line).has_value()) << line;
  }
}

TEST(LogEvents, EachConditionOfTheLogHasATimeAndIsInTheCatalogue) {
  for (const muster::health::KernelMessage& row : muster::health::KernelMessages()) {
    if (row.condition.empty()) continue;
    const std::optional<absl::Duration> hold = muster::health::HoldOf(row.condition);
    ASSERT_TRUE(hold.has_value()) << std::string(row.condition);
    EXPECT_GE(*hold, absl::Hours(1)) << std::string(row.condition);
    // What nobody has to act on ends by itself.
    if (muster::health::FindCondition(row.condition)->severity ==
        muster::health::Severity::kWarning) {
      EXPECT_LE(*hold, absl::Hours(24)) << std::string(row.condition);
    }
  }
}

TEST(LogEvents, AFileSystemIsReadOnlyUntilItIsMountedAnew) {
  const auto event = Read("EXT4-fs (sdb1): Remounting filesystem read-only");
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->condition, kConditionOfMount);
  EXPECT_EQ(event->until, absl::InfiniteFuture());
  for (const char* line :
       {"EXT4-fs (sdb1): mounted filesystem with ordered data mode. Opts: (null)",
        "EXT4-fs (sdb1): mounted filesystem 1f0c r/w with ordered data mode. Quota mode: none.",
        "EXT4-fs (sdb1): unmounting filesystem 1f0c.", "XFS (sdb1): Mounting V5 Filesystem 1f0c",
        "XFS (sdb1): Unmounting Filesystem"}) {
    EXPECT_EQ(MountedDevice(line), event->object) << line;
  }
  for (const char* line :
       {"", "EXT4-fs (sdb1", "EXT4-fs (): mounted filesystem", "XFS (sdb1): Ending clean mount",
        "EXT4-fs (sdb1): re-mounted. Opts: (null)", "a EXT4-fs (sdb1): mounted filesystem",
        "EXT4-fs (sdb1): Remounting filesystem read-only"}) {
    EXPECT_EQ(MountedDevice(line), "") << line;
  }
}

class LogReaderTest : public ::testing::Test {
 protected:
  LogReaderTest() : path_(dir_.path() + "/kmsg") {}

  void Start(LogPosition position = {}) {
    reader_ = std::make_unique<LogReader>(path_, position, [this](const LogRecord& record) {
      absl::MutexLock lock(&mutex_);
      texts_.emplace_back(record.text);
    });
    reader_->Start();
  }
  size_t Await(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto are_there = [&] {
      mutex_.AssertHeld();
      return texts_.size() >= count;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&are_there), absl::Seconds(20));
    return texts_.size();
  }

  muster::testing::TempDir dir_;
  const std::string path_;
  absl::Mutex mutex_;
  std::vector<std::string> texts_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<LogReader> reader_;
};

TEST_F(LogReaderTest, ReadsWhatIsThereAndWhatComes) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  // Open for both: a pipe whose writers are gone ends.
  const int writer = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  Start(LogPosition(6));
  std::string text = "6,6,1,-;old\n6,7,1,-;one\n SUBSYSTEM=x\ngarbage\n6,8,1,-;two\n";
  ASSERT_EQ(::write(writer, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(Await(2), 2u);
  text = "6,18,1,-;three\n";
  ASSERT_EQ(::write(writer, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(Await(3), 3u);
  const LogReader::State state = reader_->state();
  EXPECT_OK(state.status);
  EXPECT_EQ(state.lost, 9u);
  EXPECT_EQ(state.malformed, 1u);
  reader_->Stop();
  ::close(writer);
}

TEST_F(LogReaderTest, AFloodIsReadInBoundedMemoryAndTime) {
  constexpr size_t kLines = 100'000;
  {
    std::ofstream file(path_);
    for (size_t i = 1; i <= kLines; ++i)
      file << "3," << i << "," << i << ",-;NVRM: Xid (PCI:0000:3b:00): 95, pid=1, storm\n";
    file << std::string(10'000'000, 'x') << "\n3," << kLines + 1 << ",1,-;the end\n";
  }
  const absl::Time begin = absl::Now();
  Start();
  EXPECT_EQ(Await(kLines + 1), kLines + 1);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(15));
  EXPECT_EQ(reader_->state().lost, 0u);
  EXPECT_GT(reader_->state().malformed, 0u);
}

TEST_F(LogReaderTest, AMissingLogIsReportedAndFoundLater) {
  Start();
  const absl::Time limit = absl::Now() + absl::Seconds(10);
  while (reader_->state().status.ok() && absl::Now() < limit) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_TRUE(absl::IsNotFound(reader_->state().status)) << reader_->state().status;
  std::ofstream(path_) << "6,1,1,-;hello\n";
  EXPECT_EQ(Await(1), 1u);
}

TEST_F(LogReaderTest, AFileThatEndsIsReadAgainWithoutRepeatingIt) {
  std::ofstream(path_) << "6,1,1,-;one\n";
  Start();
  EXPECT_EQ(Await(1), 1u);
  std::ofstream(path_, std::ios::app) << "6,2,1,-;two\n";
  EXPECT_EQ(Await(2), 2u);
}

}  // namespace
}  // namespace muster::agent::health
