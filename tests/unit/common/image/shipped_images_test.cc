// The images that come with Muster.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "common/image/definition.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::image {
namespace {

namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ifstream in(path);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

TEST(ShippedImages, NameOnlyWhatExists) {
  size_t images = 0;
  for (const auto& entry : fs::directory_iterator(kImageFolder)) {
    const fs::path path = entry.path() / kDefinitionFile;
    if (!fs::exists(path)) continue;
    ++images;
    const auto definition =
        ParseDefinition(entry.path().filename().string(), path.string(), ReadText(path));
    ASSERT_OK(definition);
    EXPECT_FALSE(definition->description.empty()) << path;
    for (const Reference& folder : definition->files)
      EXPECT_TRUE(fs::is_directory(fs::path(kImageFolder) / folder.text)) << path << folder.text;
    for (const Reference& role : definition->roles)
      EXPECT_TRUE(fs::is_directory(fs::path("playbooks/roles") / role.text)) << path << role.text;
  }
  EXPECT_GE(images, 2u);
}

}  // namespace
}  // namespace muster::image
