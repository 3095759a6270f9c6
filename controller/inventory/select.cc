#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/nearest_word.h"
#include "controller/inventory/inventory.h"

namespace muster::controller {
namespace {

using Names = absl::flat_hash_set<std::string>;

// How many names, of nodes and of members of groups, the terms of one pattern may look at: about
// half a second of work. Four hundred globs over 10,000 nodes fit, or a host for each of 65,536
// terms.
constexpr size_t kMaxNamesLookedAt = 4'000'000;
// For a long glob each name counts several times.
constexpr size_t kGlobBytesOfOneLook = 64;

// Counts what the terms look at.
class Looks {
 public:
  absl::Status Spend(size_t names) {
    spent_ += names;
    if (spent_ <= kMaxNamesLookedAt) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the terms go through more than ", kMaxNamesLookedAt,
                     " names: use fewer globs and groups, or host lists such as c[001-100]"));
  }

 private:
  size_t spent_ = 0;
};

// '*' stands for any text, '?' for any one character.
bool MatchesGlob(absl::string_view glob, absl::string_view text) {
  size_t g = 0, t = 0, star = absl::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      retry = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != absl::string_view::npos) {
      g = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == absl::string_view::npos;
}

std::vector<std::string> KnownNames(const Inventory& inventory) {
  std::vector<std::string> known;
  for (const Group& group : inventory.groups()) known.push_back(group.name);
  for (const Node& node : inventory.nodes()) known.push_back(node.name);
  return known;
}

absl::Status AddRack(const Inventory& inventory, absl::string_view name, Looks& looks,
                     Names* names) {
  if (const Rack* rack = inventory.FindRack(name)) {
    RETURN_IF_ERROR(looks.Spend(rack->nodes.size()));
    names->insert(rack->nodes.begin(), rack->nodes.end());
    return absl::OkStatus();
  }
  std::vector<std::string> known;
  for (const Rack& rack : inventory.racks()) known.push_back(rack.name);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown rack '", name, "'", DidYouMean(name, known)));
}

absl::Status AddGlob(const Inventory& inventory, absl::string_view glob, Looks& looks,
                     Names* names) {
  RETURN_IF_ERROR(looks.Spend(inventory.nodes().size() * (1 + glob.size() / kGlobBytesOfOneLook)));
  bool any = false;
  for (const Node& node : inventory.nodes()) {
    if (!MatchesGlob(glob, node.name)) continue;
    names->insert(node.name);
    any = true;
  }
  if (any) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("no node matches '", glob, "'"));
}

// Adds the nodes of one term, which is not an exclusion.
absl::Status AddTerm(const Inventory& inventory, absl::string_view term, Looks& looks,
                     Names* names) {
  absl::string_view rack = term;
  if (absl::ConsumePrefix(&rack, "rack:")) return AddRack(inventory, rack, looks, names);
  if (term.find_first_of("*?") != absl::string_view::npos)
    return AddGlob(inventory, term, looks, names);
  ASSIGN_OR_RETURN(const std::vector<std::string> words, ExpandHostlist(term));
  RETURN_IF_ERROR(looks.Spend(words.size()));
  std::vector<std::string> unknown;
  for (const std::string& word : words) {
    if (inventory.FindNode(word) != nullptr) {
      names->insert(word);
    } else if (const Group* group = inventory.FindGroup(word)) {
      RETURN_IF_ERROR(looks.Spend(group->nodes.size()));
      names->insert(group->nodes.begin(), group->nodes.end());
    } else {
      unknown.push_back(word);
    }
  }
  if (unknown.empty()) return absl::OkStatus();
  const std::string hint = DidYouMean(unknown.front(), KnownNames(inventory));
  return absl::InvalidArgumentError(
      absl::StrCat("unknown node or group '", FoldHostlist(unknown), "'", hint));
}

struct Term {
  size_t column;  // from 0
  absl::string_view text;
};

// Splits at the commas outside brackets.
absl::StatusOr<std::vector<Term>> SplitTerms(absl::string_view pattern) {
  std::vector<Term> terms;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= pattern.size(); ++i) {
    if (i < pattern.size() && !(pattern[i] == ',' && depth == 0)) {
      depth += (pattern[i] == '[') - (pattern[i] == ']');
      continue;
    }
    if (terms.size() == kMaxHostlistNames) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMaxHostlistNames,
                       " terms in one pattern: write host lists such as c[001-100], or a group"));
    }
    const absl::string_view raw = pattern.substr(begin, i - begin);
    const absl::string_view text = absl::StripLeadingAsciiWhitespace(raw);
    terms.push_back({begin + raw.size() - text.size(), absl::StripTrailingAsciiWhitespace(text)});
    begin = i + 1;
  }
  return terms;
}

// ExpandHostlist counts columns from the term; the pattern's columns are wanted.
absl::Status ShiftColumn(const absl::Status& status, size_t by) {
  constexpr absl::string_view kColumn = "column ";
  absl::string_view message = status.message();
  if (status.ok() || !absl::ConsumePrefix(&message, kColumn)) return status;
  size_t column = 0;
  while (!message.empty() && absl::ascii_isdigit(message.front()) && column < 1'000'000) {
    column = column * 10 + (message.front() - '0');
    message.remove_prefix(1);
  }
  return absl::Status(status.code(), absl::StrCat(kColumn, column + by, message));
}

}  // namespace

absl::StatusOr<std::vector<const Node*>> Select(const Inventory& inventory,
                                                absl::string_view pattern) {
  ASSIGN_OR_RETURN(const std::vector<Term> terms, SplitTerms(pattern));
  Looks looks;
  Names included, excluded;
  bool only_exclusions = true;
  for (Term term : terms) {
    const bool is_exclusion = absl::ConsumePrefix(&term.text, "!");
    term.column += is_exclusion;
    if (term.text.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("column ", term.column + 1, ": a node or group is missing"));
    }
    only_exclusions = only_exclusions && is_exclusion;
    RETURN_IF_ERROR(ShiftColumn(
        AddTerm(inventory, term.text, looks, is_exclusion ? &excluded : &included), term.column));
  }
  std::vector<const Node*> nodes;
  for (const Node& node : inventory.nodes()) {
    if (excluded.contains(node.name)) continue;
    if (only_exclusions || included.contains(node.name)) nodes.push_back(&node);
  }
  return nodes;
}

}  // namespace muster::controller
