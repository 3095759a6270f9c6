// Prints random host lists and the names in them, for Slurm to read. Usage: hostlist_cases SEED
// COUNT
//
//   == c[001-003],x-ib          a host list
//   c001                        its names, each once, sorted bytewise
//   …
//
// Half of the lists are folded names, half are expanded expressions: those that Slurm accepts too,
// without text after a bracket.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/text/hostlist.h"

namespace {

class Cases {
 public:
  explicit Cases(unsigned seed) : random_(seed) {}

  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const std::vector<std::string> prefixes = {Prefix(), Prefix(), ""};
    const std::vector<std::string> suffixes = {"", "", "", "-ib", "a", ".hpc"};
    for (int count = Below(40) + 1; count > 0; --count) {
      const std::string& prefix = prefixes[Below(3)];
      std::string name = absl::StrCat(prefix, Number(), suffixes[Below(6)]);
      if (Below(8) == 0) name = absl::StrCat("n", prefix);
      names.push_back(std::move(name));
    }
    return names;
  }

  std::string Expression() {
    std::string text;
    for (int items = Below(4) + 1; items > 0; --items) {
      if (!text.empty()) text += ",";
      for (int brackets = Below(3); brackets > 0; --brackets)
        absl::StrAppend(&text, Prefix(), Bracket());
      if (text.empty() || text.back() == ',') absl::StrAppend(&text, Prefix(), Number());
      if (Below(6) == 0) text = absl::StrCat(text, ",", text);  // repeated, which Slurm keeps
    }
    return text;
  }

 private:
  int Below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  std::string Prefix() {
    const std::vector<std::string> words = {"c", "node", "gpu-", "r1n", "x.y", "login", "a-b-c"};
    return words[Below(static_cast<int>(words.size()))];
  }
  std::string Number() {
    const int width = Below(3) == 0 ? 0 : Below(14);
    return absl::StrFormat("%0*d", width, Below(2) == 0 ? Below(12) : Below(2000));
  }
  std::string Bracket() {
    std::string text;
    const int width = Below(5);
    for (int ranges = Below(3) + 1; ranges > 0; --ranges) {
      const int first = Below(200), last = first + Below(12);
      absl::StrAppend(&text, text.empty() ? "" : ",", absl::StrFormat("%0*d", width, first));
      if (Below(3) > 0) absl::StrAppend(&text, "-", absl::StrFormat("%0*d", width, last));
    }
    return absl::StrCat("[", text, "]");
  }

  std::mt19937 random_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: hostlist_cases SEED COUNT\n";
    return 2;
  }
  Cases cases(static_cast<unsigned>(std::atoi(argv[1])));
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    std::string list;
    std::vector<std::string> names;
    if (i % 2 == 0) {
      names = cases.Names();
      list = muster::FoldHostlist(names);
    } else {
      list = cases.Expression();
      auto expanded = muster::ExpandHostlist(list);
      if (!expanded.ok()) {
        std::cerr << list << ": " << expanded.status() << "\n";
        return 1;
      }
      names = *std::move(expanded);
    }
    std::cout << "== " << list << "\n";
    for (const std::string& name : std::set<std::string>(names.begin(), names.end()))
      std::cout << name << "\n";
  }
  return 0;
}
