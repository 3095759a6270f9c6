#include "agent/state/resource_records.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

TEST(ResourceRecordsTest, KeepsOneRecordPerKindAndKey) {
  testing::FakeFileSystem files;
  ResourceRecords records("/state/records", files);
  EXPECT_EQ(records.Get("mounts", "/home").value(), std::nullopt);

  ASSERT_OK(records.Put("mounts", "/home", "one"));
  ASSERT_OK(records.Put("mounts", "/home", "two"));
  ASSERT_OK(records.Put("files_in", "/home", "three"));
  ASSERT_OK(records.Put("mounts", "_home", "four"));  // looks like /home, but is another
  EXPECT_EQ(records.Get("mounts", "/home").value(), "two");
  EXPECT_EQ(records.Get("files_in", "/home").value(), "three");
  EXPECT_EQ(records.Get("mounts", "_home").value(), "four");

  ASSERT_OK(records.Remove("mounts", "/home"));
  ASSERT_OK(records.Remove("mounts", "/home"));
  EXPECT_EQ(records.Get("mounts", "/home").value(), std::nullopt);
  EXPECT_EQ(records.Get("mounts", "_home").value(), "four");
}

TEST(ResourceRecordsTest, TakesAnyKey) {
  testing::FakeFileSystem files;
  ResourceRecords records("/state/records", files);
  for (const std::string& key : {std::string("../../etc/passwd"), std::string("a/b\n"),
                                 std::string(5000, 'x'), std::string()}) {
    ASSERT_OK(records.Put("set", key, key));
    EXPECT_EQ(records.Get("set", key).value(), key);
  }
}

}  // namespace
}  // namespace muster::agent
