#include "cli/render/plan/diff_fold.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

using DiffLines = std::vector<absl::string_view>;

// The number of variants that are shown for the lines between two common ones.
constexpr size_t kShownVariants = 8;
// The largest comparison of two texts, in pairs of lines. Larger ones count as having nothing in
// common.
constexpr size_t kMaxPairs = size_t{4} << 20;

// The longest common subsequence of lines.
DiffLines Common(const DiffLines& a, const DiffLines& b) {
  if (a == b) return a;
  if (a.empty() || b.empty() || a.size() > kMaxPairs / b.size()) return {};
  const size_t width = b.size() + 1;
  std::vector<uint32_t> best((a.size() + 1) * width, 0);  // for the lines from a[i] and b[j] on
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      best[i * width + j] = a[i] == b[j]
                                ? best[(i + 1) * width + j + 1] + 1
                                : std::max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  DiffLines common;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      common.push_back(a[i]);
      ++i;
      ++j;
    } else if (best[(i + 1) * width + j] >= best[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return common;
}

// DiffLines at one place, each variant with the nodes that have it.
using Gap = std::map<DiffLines, std::vector<std::string>>;

void AppendGap(const Gap& gap, std::string* out) {
  std::vector<std::pair<std::vector<std::string>, const DiffLines*>> variants;
  for (const auto& [lines, nodes] : gap) {
    if (!lines.empty()) variants.emplace_back(nodes, &lines);
  }
  // Ordered by their nodes.
  std::sort(variants.begin(), variants.end());
  for (size_t i = 0; i < std::min(kShownVariants, variants.size()); ++i) {
    const std::string nodes = FoldHostlist(variants[i].first);
    for (const absl::string_view line : *variants[i].second) {
      absl::StrAppend(out, nodes, ": ", line, "\n");
    }
  }
  if (variants.size() > kShownVariants) {
    size_t nodes = 0;
    for (size_t i = kShownVariants; i < variants.size(); ++i) nodes += variants[i].first.size();
    absl::StrAppend(out, "… and ", Counted(nodes, "node"), " with other differences\n");
  }
}

}  // namespace

std::string FoldTexts(const std::vector<TextOfNodes>& texts) {
  std::vector<DiffLines> split;
  for (const TextOfNodes& each : texts) {
    split.push_back(absl::StrSplit(absl::StripTrailingAsciiWhitespace(each.text), '\n'));
  }
  if (split.empty()) return "";
  DiffLines common = split.front();
  for (const DiffLines& lines : split) common = Common(common, lines);
  std::vector<Gap> gaps(common.size() + 1);  // before each common line, and after the last
  for (size_t i = 0; i < split.size(); ++i) {
    size_t at = 0;
    DiffLines between;
    const auto end_gap = [&] {
      auto& nodes = gaps[at][std::move(between)];
      nodes.insert(nodes.end(), texts[i].nodes.begin(), texts[i].nodes.end());
      between.clear();
    };
    for (const absl::string_view line : split[i]) {
      if (at < common.size() && line == common[at]) {
        end_gap();
        ++at;
      } else {
        between.push_back(line);
      }
    }
    end_gap();
  }
  std::string out;
  for (size_t i = 0; i <= common.size(); ++i) {
    AppendGap(gaps[i], &out);
    if (i < common.size()) absl::StrAppend(&out, common[i], "\n");
  }
  return out;
}

}  // namespace muster::cli
