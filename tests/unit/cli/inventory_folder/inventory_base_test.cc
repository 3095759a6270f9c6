#include "cli/inventory_folder/inventory_base.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "muster/v1/inventory.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

TEST(InventoryBase, IsKeptBesideTheFiles) {
  testing::TempDir folder;
  EXPECT_EQ(ReadInventoryBase(folder.path())->has_value(), false);
  v1::InventoryBase base;
  base.set_revision(12);
  base.set_sha256(std::string(64, 'a'));
  ASSERT_OK(WriteInventoryBase(folder.path(), base));
  const auto read = ReadInventoryBase(folder.path());
  ASSERT_OK(read);
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->revision(), 12u);
  EXPECT_EQ((*read)->sha256(), base.sha256());
}

TEST(InventoryBase, AFileHasNone) {
  testing::TempDir folder;
  const std::string file = folder.path() + "/cluster.yaml";
  std::ofstream(file) << "cluster: a\n";
  EXPECT_EQ(ReadInventoryBase(file)->has_value(), false);
  EXPECT_OK(WriteInventoryBase(file, v1::InventoryBase()));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/.revision"));
}

TEST(InventoryBase, WhatNobodyWroteIsRefused) {
  for (const char* text : {"12\n", "# head\nx 00\n", "0 ", "12 short\n"}) {
    testing::TempDir folder;
    std::ofstream(folder.path() + "/.revision") << text;
    EXPECT_THAT(ReadInventoryBase(folder.path()),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
}

}  // namespace
}  // namespace muster::cli
