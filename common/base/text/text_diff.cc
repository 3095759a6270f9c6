#include "common/base/text/text_diff.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

constexpr size_t kContext = 3;
// Edits up to which the shortest diff is searched: the cost grows with their square.
constexpr int kMaxEdits = 1000;

using Lines = std::vector<absl::string_view>;

enum class Kind : char { kKeep = ' ', kDelete = '-', kInsert = '+' };

struct Edit {
  Kind kind;
  absl::string_view line;  // with its newline, if it has one
};

// The furthest x on each diagonal k = x - y, after each number of edits (Myers 1986).
using Frontier = std::vector<int>;

// The edits of the shortest script in reverse order; false when it has more than kMaxEdits.
bool ShortestScript(const Lines& a, const Lines& b, std::vector<Edit>& reversed) {
  const int n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
  const int limit = std::min(n + m, kMaxEdits);
  std::vector<Frontier> trace;
  Frontier v(2 * static_cast<size_t>(limit) + 3, 0);
  const int zero = limit + 1;
  int edits = 0;
  bool found = false;
  for (; edits <= limit && !found; ++edits) {
    trace.push_back(Frontier(v.begin() + zero - edits - 1, v.begin() + zero + edits + 2));
    for (int k = -edits; k <= edits; k += 2) {
      const bool down = k == -edits || (k != edits && v[zero + k - 1] < v[zero + k + 1]);
      int x = down ? v[zero + k + 1] : v[zero + k - 1] + 1;
      while (x < n && x - k < m && a[x] == b[x - k]) ++x;
      v[zero + k] = x;
      if (x >= n && x - k >= m) {
        found = true;
        break;
      }
    }
  }
  if (!found) return false;
  int x = n, y = m;
  for (int d = edits - 1; d >= 0; --d) {
    const Frontier& last = trace[d];  // its middle, diagonal 0, is at index d + 1
    const int k = x - y;
    const auto at = [&last, d](int diagonal) { return last[diagonal + d + 1]; };
    const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
    const int from_x = d == 0 ? 0 : (down ? at(k + 1) : at(k - 1) + 1);  // after the edit
    for (; x > from_x; --x, --y) reversed.push_back({Kind::kKeep, a[x - 1]});
    if (d == 0) break;
    if (down)
      reversed.push_back({Kind::kInsert, b[--y]});
    else
      reversed.push_back({Kind::kDelete, a[--x]});
  }
  return true;
}

std::vector<Edit> Script(const Lines& a, const Lines& b) {
  size_t head = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  size_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  const Lines middle_a(a.begin() + head, a.end() - tail),
      middle_b(b.begin() + head, b.end() - tail);

  std::vector<Edit> script;
  for (size_t i = 0; i < head; ++i) script.push_back({Kind::kKeep, a[i]});
  std::vector<Edit> reversed;
  if (ShortestScript(middle_a, middle_b, reversed)) {
    script.insert(script.end(), reversed.rbegin(), reversed.rend());
  } else {
    for (const absl::string_view line : middle_a) script.push_back({Kind::kDelete, line});
    for (const absl::string_view line : middle_b) script.push_back({Kind::kInsert, line});
  }
  for (size_t i = a.size() - tail; i < a.size(); ++i) script.push_back({Kind::kKeep, a[i]});
  return script;
}

std::string Range(size_t first, size_t count) {
  // An empty range is named by the line before it.
  if (count == 1) return absl::StrCat(first + 1);
  return absl::StrCat(count == 0 ? first : first + 1, ",", count);
}

// script[begin, end) as one hunk; line numbers count from 0.
void AppendHunk(const std::vector<Edit>& script, size_t begin, size_t end, size_t line_a,
                size_t line_b, std::string& out) {
  size_t count_a = 0, count_b = 0;
  for (size_t i = begin; i < end; ++i) {
    count_a += script[i].kind != Kind::kInsert;
    count_b += script[i].kind != Kind::kDelete;
  }
  absl::StrAppend(&out, "@@ -", Range(line_a, count_a), " +", Range(line_b, count_b), " @@\n");
  for (size_t i = begin; i < end; ++i) {
    out += static_cast<char>(script[i].kind);
    out.append(script[i].line.data(), script[i].line.size());
    if (script[i].line.back() != '\n') out += "\n\\ No newline at end of file\n";
  }
}

}  // namespace

std::vector<absl::string_view> SplitLines(absl::string_view text) {
  std::vector<absl::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const size_t size = end == absl::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

KeptLines LinesKept(absl::string_view before, absl::string_view after) {
  KeptLines kept;
  size_t line_b = 0;
  for (const Edit& edit : Script(SplitLines(before), SplitLines(after))) {
    if (edit.kind == Kind::kKeep) {
      kept.push_back(line_b);
    } else if (edit.kind == Kind::kDelete) {
      kept.push_back(std::nullopt);
    }
    line_b += edit.kind != Kind::kDelete;
  }
  return kept;
}

std::string UnifiedDiff(absl::string_view before, absl::string_view after, absl::string_view name) {
  if (before == after || before.size() > kMaxDiffInput || after.size() > kMaxDiffInput) return "";
  for (const absl::string_view text : {before, after})
    if (text.find('\0') != absl::string_view::npos) return "";

  const std::vector<Edit> script = Script(SplitLines(before), SplitLines(after));
  std::string out = absl::StrCat("--- ", name, " (before)\n+++ ", name, " (after)\n");
  size_t line_a = 0, line_b = 0;  // of script[i]
  for (size_t i = 0; i < script.size();) {
    // Find the next change, and the end of the group of changes that share context lines.
    size_t change = i;
    while (change < script.size() && script[change].kind == Kind::kKeep) ++change;
    if (change == script.size()) break;
    const size_t begin = change - std::min(kContext, change - i);
    size_t end = change, kept = 0;
    for (; end < script.size() && kept <= 2 * kContext; ++end)
      kept = script[end].kind == Kind::kKeep ? kept + 1 : 0;
    if (kept > kContext) end -= kept - kContext;
    line_a += begin - i;
    line_b += begin - i;
    AppendHunk(script, begin, end, line_a, line_b, out);
    if (out.size() > kMaxDiffOutput) {
      out.resize(out.rfind('\n', kMaxDiffOutput) + 1);
      return absl::StrCat(out, "… the rest of the differences is not shown\n");
    }
    for (size_t j = begin; j < end; ++j) {
      line_a += script[j].kind != Kind::kInsert;
      line_b += script[j].kind != Kind::kDelete;
    }
    i = end;
  }
  return out;
}

}  // namespace muster
