#include "controller/stack/gpu_generation.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text/nearest_word.h"

namespace muster::controller::stack {
namespace {

// Sources:
// - last branches: NVIDIA's legacy GPU lists (470 is the last branch for Kepler) and the notes of
//   branch 580, the last for Maxwell, Pascal and Volta.
// - first branches: the oldest branch whose release notes list a GPU of the generation.
// - modules: the README of the open kernel modules (Turing and later); Blackwell and Grace Hopper
//   run with them only.
// - CUDA: the release notes of CUDA 12.0 (Kepler removed) and 13.0 (Maxwell, Pascal and Volta
//   removed).
constexpr GpuGeneration kGenerations[] = {
    {"kepler", "Kepler", 304, 470, GpuModules::kProprietary, 11},
    {"maxwell", "Maxwell", 340, 580, GpuModules::kProprietary, 12},
    {"pascal", "Pascal", 367, 580, GpuModules::kProprietary, 12},
    {"volta", "Volta", 384, 580, GpuModules::kProprietary, 12},
    {"turing", "Turing", 410, 0, GpuModules::kEither, 0},
    {"ampere", "Ampere", 450, 0, GpuModules::kEither, 0},
    {"ada", "Ada", 520, 0, GpuModules::kEither, 0},
    {"hopper", "Hopper", 520, 0, GpuModules::kEither, 0},
    {"grace_hopper", "Grace Hopper", 535, 0, GpuModules::kOpen, 0},
    {"blackwell", "Blackwell", 570, 0, GpuModules::kOpen, 0},
};

struct DeviceRange {
  uint32_t first;
  uint32_t last;
  absl::string_view generation;
};

// Source: the chips' names in pci.ids (2025.06.09), GK to GB. The first range that contains an id
// counts. Ids between the ranges belong to other devices, or to GPUs that are not known yet.
constexpr DeviceRange kDevices[] = {
    {0x2342, 0x2342, "grace_hopper"},  // GH200
    {0x2348, 0x2348, "grace_hopper"},  // GH200, HBM3e
    {0x0fa0, 0x103f, "kepler"},        // GK107, GK110, GK11x
    {0x1180, 0x11ff, "kepler"},        // GK104, GK106
    {0x1280, 0x130b, "kepler"},        // GK208
    {0x1340, 0x1436, "maxwell"},       // GM107, GM108, GM204, GM206
    {0x15f0, 0x15ff, "pascal"},        // GP100
    {0x1617, 0x1667, "maxwell"},       // GM204
    {0x174d, 0x17fd, "maxwell"},       // GM108, GM200
    {0x1b00, 0x1d56, "pascal"},        // GP102 to GP108
    {0x1d81, 0x1dff, "volta"},         // GV100
    {0x1e00, 0x1fff, "turing"},        // TU102 to TU117
    {0x2080, 0x20ff, "ampere"},        // GA100
    {0x2180, 0x21ff, "turing"},        // TU116
    {0x2200, 0x227f, "ampere"},        // GA102
    {0x2300, 0x23ff, "hopper"},        // GH100
    {0x2400, 0x25ff, "ampere"},        // GA103 to GA107
    {0x2680, 0x28ff, "ada"},           // AD102 to AD107
    {0x2900, 0x3340, "blackwell"},     // GB100 to GB207
};

}  // namespace

const std::vector<GpuGeneration>& GpuGenerations() {
  static const auto* const kAll =
      new std::vector<GpuGeneration>(std::begin(kGenerations), std::end(kGenerations));
  return *kAll;
}

const GpuGeneration* FindGeneration(absl::string_view word) {
  const auto* const found =
      std::find_if(std::begin(kGenerations), std::end(kGenerations),
                   [&](const GpuGeneration& row) { return row.word == word; });
  return found == std::end(kGenerations) ? nullptr : found;
}

const GpuGeneration* GenerationOfDevice(absl::string_view device_id) {
  uint32_t id = 0;
  if (device_id.size() != 4 ||
      !std::all_of(device_id.begin(), device_id.end(),
                   [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); }) ||
      !absl::SimpleHexAtoi(device_id, &id)) {
    return nullptr;
  }
  for (const DeviceRange& range : kDevices) {
    if (id >= range.first && id <= range.last) return FindGeneration(range.generation);
  }
  return nullptr;
}

std::string CheckGeneration(absl::string_view word) {
  if (FindGeneration(word) != nullptr) return "";
  std::vector<std::string> known;
  for (const GpuGeneration& row : GpuGenerations()) known.emplace_back(row.word);
  std::string hint = DidYouMean(word, known);
  if (hint.empty()) hint = absl::StrCat(" (known: ", absl::StrJoin(known, ", "), ")");
  return absl::StrCat("unknown generation '", word, "'", hint);
}

}  // namespace muster::controller::stack
