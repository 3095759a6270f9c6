#include "tests/fakes/nvidia/ptx.h"

#include <cctype>
#include <cstdlib>

namespace muster::fake_nvidia {
namespace {

// The word after the first `directive`, searched from `at`, which moves behind it; "" at the end.
std::string WordAfter(const std::string& text, const std::string& directive, size_t& at) {
  at = text.find(directive, at);
  if (at == std::string::npos) return "";
  at += directive.size();
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
  const size_t begin = at;
  const auto is_word = [&text](size_t i) {
    const auto c = static_cast<unsigned char>(text[i]);
    return std::isalnum(c) || c == '_' || c == '$' || c == '.';
  };
  while (at < text.size() && is_word(at)) ++at;
  return text.substr(begin, at - begin);
}

struct VersionRow {
  int ptx, cuda;
};
// PTX ISA, release notes: the CUDA release that introduced each version.
constexpr VersionRow kVersions[] = {
    {60, 9000},  {63, 10000}, {64, 10010}, {65, 10020}, {70, 11000},
    {78, 11080}, {80, 12000}, {84, 12040}, {87, 12080}, {90, 13000},
};

}  // namespace

Ptx ReadPtx(const std::string& text) {
  Ptx ptx;
  size_t at = 0;
  const std::string version = WordAfter(text, ".version", at);
  if (version.size() >= 3)
    ptx.version =
        std::atoi(version.c_str()) * 10 + std::atoi(version.c_str() + version.find('.') + 1);
  at = 0;
  const std::string target = WordAfter(text, ".target", at);
  if (target.rfind("sm_", 0) == 0) {
    ptx.target = std::atoi(target.c_str() + 3);
    ptx.exact_target = target.back() == 'a';
  }
  at = 0;
  for (std::string name; !(name = WordAfter(text, ".entry", at)).empty();)
    ptx.entries.push_back(name);
  return ptx;
}

int CudaVersionForPtx(int ptx_version) {
  for (const VersionRow& row : kVersions)
    if (ptx_version <= row.ptx) return row.cuda;
  return 99999;
}

}  // namespace muster::fake_nvidia
