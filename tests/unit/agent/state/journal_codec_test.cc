#include "agent/state/journal_codec.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

constexpr int kRecords = 5;

v1::JournalRecord Record(int i) {
  v1::JournalRecord record;
  record.mutable_step_intent()->set_plan_id(absl::StrCat("r-1/", i));
  record.mutable_step_intent()->set_step_id(std::string(static_cast<size_t>(i) * 3, 'x'));
  return record;
}

struct Written {
  std::string bytes;
  std::vector<size_t> ends;  // of each frame
};

Written Write() {
  Written written;
  for (int i = 0; i < kRecords; ++i) {
    written.bytes += FrameRecord(Record(i));
    written.ends.push_back(written.bytes.size());
  }
  return written;
}

TEST(JournalCodecTest, ReadsBackWhatWasWritten) {
  const Written written = Write();
  const DecodedJournal journal = DecodeJournal(written.bytes);
  EXPECT_EQ(journal.end, JournalEnd::kClean);
  EXPECT_EQ(journal.good_bytes, written.bytes.size());
  ASSERT_EQ(journal.records.size(), static_cast<size_t>(kRecords));
  EXPECT_EQ(journal.records[3].step_intent().plan_id(), "r-1/3");
}

TEST(JournalCodecTest, CutAtAnyByteKeepsTheWholeRecordsBeforeTheCut) {
  const Written written = Write();
  for (size_t cut = 0; cut <= written.bytes.size(); ++cut) {
    SCOPED_TRACE(cut);
    size_t whole = 0;
    while (whole < written.ends.size() && written.ends[whole] <= cut) ++whole;
    const size_t good = whole == 0 ? 0 : written.ends[whole - 1];
    const DecodedJournal journal = DecodeJournal(written.bytes.substr(0, cut));
    EXPECT_EQ(journal.records.size(), whole);
    EXPECT_EQ(journal.good_bytes, good);
    EXPECT_EQ(journal.end, cut == good ? JournalEnd::kClean : JournalEnd::kTorn);
  }
}

TEST(JournalCodecTest, AFlippedBitAnywhereIsNoticedAndWhatPrecedesIsKept) {
  const Written written = Write();
  for (size_t bit = 0; bit < written.bytes.size() * 8; ++bit) {
    SCOPED_TRACE(bit);
    std::string bytes = written.bytes;
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    size_t hit = 0;
    while (written.ends[hit] <= bit / 8) ++hit;
    const DecodedJournal journal = DecodeJournal(bytes);
    EXPECT_EQ(journal.records.size(), hit);
    EXPECT_NE(journal.end, JournalEnd::kClean);
    // Only in the last record can a flipped length pass for an interrupted append.
    if (hit + 1 < written.ends.size()) {
      EXPECT_EQ(journal.end, JournalEnd::kDamaged);
    }
  }
}

TEST(JournalCodecTest, ATailOfZerosIsATornAppend) {
  const Written written = Write();
  const DecodedJournal journal = DecodeJournal(written.bytes + std::string(4096, '\0'));
  EXPECT_EQ(journal.records.size(), static_cast<size_t>(kRecords));
  EXPECT_EQ(journal.end, JournalEnd::kTorn);
}

}  // namespace
}  // namespace muster::agent
