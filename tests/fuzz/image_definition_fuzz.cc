// No text may crash the reader of an image's definition, and nothing that it accepts becomes an
// option of a program, a second word of one argument, or a way out of a folder.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/image/root_commands.h"
#include "common/image/definition.h"
#include "common/image/distribution.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

bool HasBlank(const std::string& word) {
  return word.find_first_of(" \t\r\n,'\"$`\\") != std::string::npos;
}

void Check(const std::string& word) {
  if (word.empty() || word[0] == '-' || HasBlank(word)) std::abort();
}

void CheckPath(const std::string& path) {
  if (absl::StrContains(absl::StrCat("/", path, "/"), "/../")) std::abort();
}

}  // namespace

FUZZ_TARGET(image_definition, data, size) {
  using namespace muster;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto definition = image::ParseDefinition("worker", "images/worker/image.yaml", text);
  if (!definition.ok()) {
    if (!absl::StrContains(definition.status().message(), "images/worker/image.yaml")) std::abort();
    return 0;
  }
  if (image::FindDistribution(definition->distribution) == nullptr) std::abort();
  Check(definition->kernel);
  for (const std::string& package : definition->packages) Check(package);
  for (const image::Reference& role : definition->roles) {
    Check(role.text);
    CheckPath(role.text);
  }
  for (const image::Reference& folder : definition->files) {
    Check(folder.text);
    CheckPath(folder.text);
  }
  for (const std::string& pattern : definition->leave_out) {
    Check(pattern);
    CheckPath(pattern);
  }
  const cli::BaseRecipe recipe{.definition = *definition,
                               .source = {},
                               .files = {},
                               .files_sha256 = {},
                               .agent_package = "/agent.deb",
                               .agent_sha256 = "",
                               .packages_at = absl::UnixEpoch(),
                               .proxy = ""};
  if (cli::BaseDigest(recipe).size() != 64) std::abort();
  for (const std::string& word : cli::MakeBase(recipe, "", "/base.tar")) {
    if (absl::StrContains(word, "\n")) std::abort();
  }
  return 0;
}
