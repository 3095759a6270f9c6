#include "controller/boot/boot_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::controller::boot {
namespace {

using ::muster::testing::Said;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

ImageScript WorkerScript() {
  ImageScript script;
  script.what = "c001 boots worker@aaaaaaaaaaaa";
  script.node = "c001";
  script.server = "http://10.0.0.1:7483";
  script.self = "http://10.0.0.1:7483/boot.ipxe?mac=0c:42:a1:00:12:01";
  script.image = std::string(64, 'a');
  script.boot_id = "5f0c1a52-1b2c-4d3e-8f00-0123456789ab";
  script.root_sha256 = std::string(64, 'b');
  script.root_bytes = 4096;
  script.kernel_arguments = {"boot=muster", "console=tty0", "console=ttyS0,115200"};
  return script;
}

TEST(BootScriptTest, AnImage) { EXPECT_THAT(RenderImageScript(WorkerScript()), Said()); }

// The firmware would go on to its next device, which may hold anything.
TEST(BootScriptTest, NoCommandThatFailsEndsAScriptThatAsksAgain) {
  SignedScript is_signed;
  is_signed.self = WorkerScript().self;
  for (const std::string& script :
       {RenderImageScript(WorkerScript()), RenderSignedScript(is_signed),
        RetryScript("no image", WorkerScript().self)}) {
    EXPECT_THAT(script, EndsWith(absl::StrCat("\n:again\necho muster: asking again in 30 s\nsleep "
                                              "30\nchain --replace --autofree ",
                                              is_signed.self, " || goto again\n")));
    const std::vector<std::string> lines = absl::StrSplit(script, '\n', absl::SkipEmpty());
    for (const std::string& line : lines) {
      const bool may_fail = line[0] != ':' && line[0] != '#' && !absl::StartsWith(line, "echo ") &&
                            !absl::StartsWith(line, "sleep ");
      EXPECT_EQ(absl::StrContains(line, "||"), may_fail) << line;
    }
  }
}

TEST(BootScriptTest, AnImageForADisk) {
  ImageScript script = WorkerScript();
  script.install = "worker@aaaaaaaaaaaa";
  EXPECT_THAT(RenderImageScript(script), HasSubstr(" muster.install=worker@aaaaaaaaaaaa "));
  EXPECT_THAT(RenderImageScript(script), Not(HasSubstr("muster.disk=")));
  script.disk = "serial:S1";
  EXPECT_THAT(RenderImageScript(script), HasSubstr(" muster.disk=serial:S1 "));
}

TEST(BootScriptTest, ANodeThatJoinsByItself) {
  ImageScript script = WorkerScript();
  script.join = "c001,login1:7444,login1:7443,sha256:ab";
  EXPECT_THAT(RenderImageScript(script),
              HasSubstr(" muster.join=c001,login1:7444,login1:7443,sha256:ab "));
}

TEST(BootScriptTest, ANodeThatGetsItsRootFromOthers) {
  ImageScript script = WorkerScript();
  EXPECT_THAT(RenderImageScript(script), Not(HasSubstr("muster.chunks=")));
  script.has_peers = true;
  EXPECT_THAT(RenderImageScript(script),
              HasSubstr(absl::StrCat(" muster.chunks=http://10.0.0.1:7483/chunks/", script.image,
                                     "?boot=", script.boot_id, " ")));
  script.boot_id.clear();
  EXPECT_THAT(RenderImageScript(script), Not(HasSubstr("muster.chunks=")));
}

TEST(BootScriptTest, AMachineThatIsNoNode) {
  ImageScript script = WorkerScript();
  script.boot_id.clear();
  script.discovery = "http://10.0.0.1:7483/discovery?mac=0c:42:a1:00:12:3f";
  EXPECT_THAT(RenderImageScript(script), Said());
}

TEST(BootScriptTest, ASignedKernelImage) {
  SignedScript script;
  script.what = "c001 boots worker@aaaaaaaaaaaa, signed";
  script.server = "http://10.0.0.1:7483";
  script.self = "http://10.0.0.1:7483/boot.ipxe?mac=0c:42:a1:00:12:01";
  script.image = std::string(64, 'a');
  script.boot_id = "5f0c1a52-1b2c-4d3e-8f00-0123456789ab";
  script.command_line = "boot=muster ip=dhcp quiet";
  EXPECT_THAT(RenderSignedScript(script), Said());
  // A machine that is no node has no boot to report.
  script.boot_id.clear();
  EXPECT_THAT(RenderSignedScript(script), Not(HasSubstr("/report/")));
}

// The firmware goes on to its next device after an error; success ends in its menu.
TEST(BootScriptTest, TheDiskIsLeftToTheFirmware) {
  EXPECT_THAT(LocalDiskScript("c001 boots from its disk"), EndsWith("\nexit 1\n"));
}

TEST(BootScriptTest, WhatIsMissingIsAskedForAgain) {
  EXPECT_THAT(RetryScript("c001 cannot boot worker: no image 'worker'", "http://h/boot.ipxe?mac=m"),
              Said());
}

TEST(BootScriptTest, WordsOfPeopleAreNoCommands) {
  const std::string script = LocalDiskScript("a\nreboot || ${net0/mac} && shell");
  const std::vector<std::string> lines = absl::StrSplit(script, '\n');
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_THAT(script, Not(HasSubstr("$")));
  EXPECT_THAT(script, Not(HasSubstr("||")));
  EXPECT_THAT(script, Not(HasSubstr("&&")));
  ImageScript image = WorkerScript();
  image.kernel_arguments = {"a=${x}", "quiet"};
  EXPECT_THAT(RenderImageScript(image), Not(HasSubstr("${x}")));
  EXPECT_THAT(RenderImageScript(image), HasSubstr(" quiet || goto failed\n"));
}

}  // namespace
}  // namespace muster::controller::boot
