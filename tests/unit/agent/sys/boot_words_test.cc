#include "agent/sys/boot_words.h"

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::testing::Optional;

TEST(BootWordsTest, TheCommandLineGoesBeforeWhatTheInitramfsWasTold) {
  muster::testing::FakeFileSystem files;
  EXPECT_FALSE(ReadBootWord(files, "muster.node").ok());
  files.AddFile("/proc/cmdline", "quiet muster.join=a,b muster.node=c001\n");
  EXPECT_THAT(ReadBootWord(files, "muster.join").value(), Optional(std::string("a,b")));
  EXPECT_EQ(ReadBootWord(files, "muster.discovery").value(), std::nullopt);
  files.AddFile("/run/muster/words/muster.node", "c002\n");
  files.AddFile("/run/muster/words/muster.discovery", "http://10.0.0.1:7483/discovery\n");
  EXPECT_THAT(ReadBootWord(files, "muster.node").value(), Optional(std::string("c001")));
  EXPECT_THAT(ReadBootWord(files, "muster.discovery").value(),
              Optional(std::string("http://10.0.0.1:7483/discovery")));
}

TEST(BootWordsTest, TheArgumentsHaveTheRootThatTheInitramfsHasFound) {
  muster::testing::FakeFileSystem files;
  EXPECT_FALSE(ReadBootArguments(files).ok());
  files.AddFile("/proc/cmdline", "boot=muster muster.image=worker@1a2b3c4d5e6f\n");
  EXPECT_EQ(ReadBootArguments(files).value(), "boot=muster muster.image=worker@1a2b3c4d5e6f");
  files.AddFile("/run/muster/words/muster.node", "c001\n");
  files.AddFile("/run/muster/words/muster.slot", "b\n");
  EXPECT_EQ(ReadBootArguments(files).value(),
            "boot=muster muster.image=worker@1a2b3c4d5e6f muster.slot=b");
}

}  // namespace
}  // namespace muster::agent
