#include "common/value/disk_layout.h"

#include <functional>

#include <gmock/gmock.h>

#include "muster/v1/image.pb.h"
#include "tests/fixtures/status_matchers.h"

namespace muster {
namespace {

using ::muster::testing::StatusIs;

v1::DiskLayout Layout() {
  v1::DiskLayout layout;
  layout.set_device("blank");
  layout.set_esp_mib(512);
  layout.set_root_mib(4096);
  layout.set_state_mib(8192);
  for (const char* name : {"spool", "scratch"}) {
    v1::DiskPartition& partition = *layout.add_partitions();
    partition.set_name(name);
    partition.set_file_system("xfs");
    partition.set_mib(64);
  }
  return layout;
}

TEST(DiskLayout, TheLastPartitionCanHaveTheRest) {
  v1::DiskLayout layout = Layout();
  EXPECT_OK(CheckDiskLayout(layout));
  layout.mutable_partitions(1)->set_mib(0);
  EXPECT_OK(CheckDiskLayout(layout));
  layout.clear_partitions();
  layout.set_state_mib(0);
  EXPECT_OK(CheckDiskLayout(layout));
}

TEST(DiskLayout, WhatCannotBeMadeIsRefused) {
  const std::function<void(v1::DiskLayout&)> faults[] = {
      [](auto& d) { d.set_device("/dev/sda"); },
      [](auto& d) { d.clear_device(); },
      [](auto& d) { d.set_esp_mib(0); },
      [](auto& d) { d.set_root_mib(~uint64_t{0}); },
      [](auto& d) { d.set_state_mib(0); },
      [](auto& d) { d.set_state_mib(~uint64_t{0}); },
      [](auto& d) { d.mutable_partitions(0)->set_mib(0); },
      [](auto& d) { d.mutable_partitions(1)->set_mib(~uint64_t{0}); },
      [](auto& d) { d.mutable_partitions(0)->set_name("a\", size=1"); },
      [](auto& d) { d.mutable_partitions(0)->set_name("scratch"); },
      [](auto& d) { d.mutable_partitions(0)->set_name("root_a"); },
      [](auto& d) { d.mutable_partitions(0)->set_name(""); },
      [](auto& d) { d.mutable_partitions(0)->set_file_system("ntfs"); },
      [](auto& d) {
        for (int i = 0; i < 20; ++i) *d.add_partitions() = d.partitions(0);
      },
  };
  for (const auto& spoil : faults) {
    v1::DiskLayout layout = Layout();
    spoil(layout);
    EXPECT_THAT(CheckDiskLayout(layout), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << layout.ShortDebugString();
  }
}

}  // namespace
}  // namespace muster
