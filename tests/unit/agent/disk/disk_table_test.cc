#include "agent/disk/disk_table.h"

#include <string>

#include <gmock/gmock.h>

#include "absl/strings/match.h"
#include "muster/v1/image.pb.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent::disk {
namespace {

using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::SizeIs;

v1::DiskLayout Layout() {
  v1::DiskLayout layout;
  layout.set_device("blank");
  layout.set_esp_mib(512);
  layout.set_root_mib(4096);
  layout.set_state_mib(8192);
  v1::DiskPartition& scratch = *layout.add_partitions();
  scratch.set_name("scratch");
  scratch.set_file_system("xfs");
  return layout;
}

TEST(DiskTable, TheScriptHasEveryPartition) {
  EXPECT_EQ(DivisionScript(Layout()), R"(label: gpt
label-id: 6d757374-6572-4e6f-8d79-65742d77686f
size=512MiB, type=uefi, name="muster-esp"
size=4096MiB, type=linux, name="muster-root_a"
size=4096MiB, type=linux, name="muster-root_b"
size=8192MiB, type=linux, name="muster-state"
type=linux, name="muster-scratch"
)");
  EXPECT_EQ(BytesOfLayout(Layout()) >> 20, 512u + 2 * 4096 + 8192 + 64 + 16);
}

TEST(DiskTable, ReadsWhatSfdiskSays) {
  const auto table = ReadPartitionTable(R"({"partitiontable": {
      "label": "gpt", "id": "6D757374-6572-4E6F-8D79-65742D77686F", "device": "/dev/vda",
      "unit": "sectors", "firstlba": 2048, "lastlba": 6291422, "sectorsize": 4096,
      "partitions": [
         {"node": "/dev/vda1", "start": 2048, "size": 524288,
          "type": "C12A7328-F81F-11D2-BA4B-00A0C93EC93B",
          "uuid": "2298A043-F957-9B47-A64C-3704BF50092E", "name": "muster-esp"},
         {"node": "/dev/vda2", "start": 526336, "size": 1048576, "uuid": "AA"}]}})");
  ASSERT_OK(table);
  EXPECT_EQ(table->id, kUnfinishedTable);
  ASSERT_THAT(table->partitions, SizeIs(2));
  const Partition* const esp = table->Find("muster-esp");
  ASSERT_NE(esp, nullptr);
  EXPECT_EQ(esp->device, "/dev/vda1");
  EXPECT_EQ(esp->uuid, "2298a043-f957-9b47-a64c-3704bf50092e");
  EXPECT_EQ(esp->bytes, uint64_t{524288} * 4096);
  EXPECT_EQ(table->Find("muster-state"), nullptr);
  EXPECT_FALSE(IsMusterTable(*table));
}

TEST(DiskTable, ReadsDisksThatCanBeWritten) {
  const auto disks = ReadDiskDevices(R"({"blockdevices": [
      {"path":"/dev/sda", "type":"disk", "size":1000, "ro":false, "rm":false, "serial":" S1 "},
      {"path":"/dev/sdb", "type":"disk", "size":1000, "ro":true, "rm":false, "serial":"S2"},
      {"path":"/dev/sdc", "type":"disk", "size":1000, "ro":false, "rm":true, "serial":"S3"},
      {"path":"/dev/sdd", "type":"disk", "size":0, "ro":false, "rm":false, "serial":"S4"},
      {"path":"/dev/zram0", "type":"disk", "size":1000, "ro":false, "rm":false, "serial":null},
      {"path":"/dev/loop0", "type":"loop", "size":1000, "ro":false, "rm":false, "serial":null},
      {"path":"/dev/vda", "type":"disk", "size":5, "ro":false, "rm":false, "serial":null}]})");
  ASSERT_OK(disks);
  ASSERT_THAT(*disks, SizeIs(2));
  EXPECT_EQ((*disks)[0].path, "/dev/sda");
  EXPECT_EQ((*disks)[0].serial, "S1");
  EXPECT_EQ((*disks)[1].path, "/dev/vda");
  EXPECT_EQ((*disks)[1].serial, "");
}

TEST(DiskTable, OtherTextsAreRefused) {
  for (const char* text :
       {"", "[]", "{", "{\"partitiontable\": 5}", "{\"partitiontable\": {\"partitions\": [1]}}",
        "{\"blockdevices\": {}}", "{\"blockdevices\": [5]}"}) {
    SCOPED_TRACE(text);
    EXPECT_THAT(ReadPartitionTable(text), StatusIs(absl::StatusCode::kDataLoss, _));
    EXPECT_THAT(ReadDiskDevices(text), StatusIs(absl::StatusCode::kDataLoss, _));
  }
}

}  // namespace
}  // namespace muster::agent::disk
