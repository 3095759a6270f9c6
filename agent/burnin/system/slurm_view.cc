#include "agent/burnin/system/slurm_view.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::burnin {
namespace {

// Nothing in a node has a larger count; two of them can be multiplied.
constexpr int64_t kMostOfAnything = int64_t{1} << 31;

constexpr absl::string_view kOutOfService[] = {
    "DOWN", "FAIL", "FAILING", "FUTURE", "INVALID_REG", "NOT_RESPONDING", "UNKNOWN",
};

using Fields = std::map<absl::string_view, absl::string_view>;

// From a line of "Key=value" words, the first of each key: free text comes after everything that
// counts.
Fields FieldsOf(absl::string_view line) {
  Fields fields;
  for (const absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    const size_t equals = word.find('=');
    if (equals == absl::string_view::npos) continue;
    fields.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  return fields;
}

absl::string_view Text(const Fields& fields, absl::string_view key) {
  const auto field = fields.find(key);
  return field == fields.end() ? absl::string_view() : field->second;
}

std::optional<int64_t> Number(const Fields& fields, absl::string_view key) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(Text(fields, key), &value)) return std::nullopt;
  if (value < 0 || value > kMostOfAnything) return std::nullopt;
  return value;
}

// The line that begins with a node's name; "": there is none.
absl::string_view NodeLine(absl::string_view text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n'))
    if (absl::StartsWith(line, "NodeName=")) return absl::StripTrailingAsciiWhitespace(line);
  return {};
}

// The part of a Gres entry after its name is "4", "tesla" or "tesla:4".
void AddGpus(absl::string_view entry, SlurmNodeLine& node) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(entry.substr(0, entry.find('(')), ':');
  // Empty for a line without Gres: Abseil splits an empty view into nothing.
  if (parts.empty() || parts.front() != "gpu") return;
  int64_t count = 1;
  const bool has_count = parts.size() > 1 && absl::SimpleAtoi(parts.back(), &count) && count >= 0;
  node.gpus += has_count ? std::min(count, kMostOfAnything) : 1;
  // "1g.5gb", "a100_3g.20gb": the number of a card's compute slices.
  for (const absl::string_view part : parts)
    for (size_t at = part.find("g."); at != absl::string_view::npos; at = part.find("g.", at + 1))
      if (at > 0 && absl::ascii_isdigit(static_cast<unsigned char>(part[at - 1])))
        node.has_gpu_slices = true;
}

// Entries are separated by commas, which also occur between the sockets of an entry: "(S:0,2)".
void ReadGres(absl::string_view gres, SlurmNodeLine& node) {
  size_t begin = 0, depth = 0, entries = 0;
  constexpr size_t kMostEntries = 256;
  for (size_t i = 0; i <= gres.size() && entries < kMostEntries; ++i) {
    if (i < gres.size() && gres[i] == '(') ++depth;
    if (i < gres.size() && gres[i] == ')' && depth > 0) --depth;
    if (i < gres.size() && (gres[i] != ',' || depth > 0)) continue;
    AddGpus(gres.substr(begin, i - begin), node);
    begin = i + 1;
    ++entries;
  }
}

Fault Make(absl::string_view code, std::string message) {
  return {.code = std::string(code), .subject = "", .message = std::move(message), .evidence = {}};
}

}  // namespace

absl::StatusOr<SlurmdLine> ParseSlurmdLine(absl::string_view text) {
  const Fields fields = FieldsOf(NodeLine(text));
  SlurmdLine line;
  line.name = std::string(Text(fields, "NodeName"));
  if (line.name.empty())
    return absl::InvalidArgumentError("slurmd -C printed something other than a NodeName line");
  line.hardware.cpus = Number(fields, "CPUs");
  line.hardware.boards = Number(fields, "Boards");
  line.hardware.sockets = Number(fields, "SocketsPerBoard");
  if (line.hardware.sockets.has_value() && line.hardware.boards.value_or(1) <= 1024 &&
      *line.hardware.sockets <= 1024)
    *line.hardware.sockets *= line.hardware.boards.value_or(1);
  line.hardware.cores_per_socket = Number(fields, "CoresPerSocket");
  line.hardware.threads_per_core = Number(fields, "ThreadsPerCore");
  line.hardware.memory_mib = Number(fields, "RealMemory");
  return line;
}

absl::StatusOr<SlurmNodeLine> ParseSlurmNodeLine(absl::string_view text) {
  absl::string_view line = NodeLine(text);
  absl::string_view reason;
  if (const size_t begin = line.find(" Reason="); begin != absl::string_view::npos) {
    reason = line.substr(begin + 8);
    line = line.substr(0, begin);
  }
  const Fields fields = FieldsOf(line);
  SlurmNodeLine node;
  node.name = std::string(Text(fields, "NodeName"));
  node.state = std::string(Text(fields, "State"));
  if (node.name.empty() || node.state.empty())
    return absl::InvalidArgumentError("scontrol printed something other than a node's line");
  node.reason = std::string(absl::StripAsciiWhitespace(reason));
  node.hardware = {.cpus = Number(fields, "CPUTot"),
                   .boards = Number(fields, "Boards"),
                   .sockets = Number(fields, "Sockets"),
                   .cores_per_socket = Number(fields, "CoresPerSocket"),
                   .threads_per_core = Number(fields, "ThreadsPerCore"),
                   .memory_mib = Number(fields, "RealMemory")};
  ReadGres(Text(fields, "Gres"), node);
  return node;
}

std::vector<Fault> CompareWithSlurm(const SlurmNodeLine& slurm, const SlurmHardware& found,
                                    std::optional<int64_t> gpus) {
  std::vector<Fault> faults;
  const SlurmHardware& configured = slurm.hardware;
  const struct {
    absl::string_view word;  // in slurm.conf
    std::optional<int64_t> configured, found;
  } rows[] = {
      {"Boards", configured.boards, found.boards},
      {"Sockets", configured.sockets, found.sockets},
      {"CoresPerSocket", configured.cores_per_socket, found.cores_per_socket},
      {"ThreadsPerCore", configured.threads_per_core, found.threads_per_core},
  };
  const auto differs = [&](absl::string_view word, int64_t wanted, absl::string_view unit,
                           int64_t has, absl::string_view who, absl::string_view lost) {
    return absl::StrCat("Slurm expects ", word, "=", wanted, unit, " of ", slurm.name, ", ", who,
                        " ", has, unit, ": ", wanted > has ? lost : "",
                        wanted > has ? "; if it is intended, " : "",
                        "rewrite slurm.conf from the node's facts (muster node facts ", slurm.name,
                        " --refresh, muster apply playbooks/site.yaml)");
  };
  for (const auto& row : rows)
    if (row.configured.has_value() && row.found.has_value() && *row.configured != *row.found)
      faults.push_back(Make("slurm_topology",
                            differs(row.word, *row.configured, "", *row.found, "slurmd -C finds",
                                    "look for a missing processor or a changed BIOS setting")));
  if (configured.cpus.has_value() && found.cpus.has_value() && *configured.cpus != *found.cpus &&
      !(found.threads_per_core.value_or(1) > 1 &&
        *configured.cpus * *found.threads_per_core == *found.cpus))
    faults.push_back(
        Make("slurm_cpus", differs("CPUs", *configured.cpus, "", *found.cpus, "slurmd -C finds",
                                   "look for a missing processor or a changed BIOS setting")));
  if (configured.memory_mib.has_value() && found.memory_mib.has_value() &&
      *configured.memory_mib > *found.memory_mib)
    faults.push_back(Make("slurm_memory",
                          differs("RealMemory", *configured.memory_mib, " MiB", *found.memory_mib,
                                  "slurmd -C finds", "look for a missing memory module")));
  if (gpus.has_value() && !slurm.has_gpu_slices && slurm.gpus != *gpus)
    faults.push_back(
        Make("slurm_gpus", differs("Gres=gpu", slurm.gpus, "", *gpus, "the driver lists",
                                   "look for a GPU that has fallen off the bus, and "
                                   "whether the driver is loaded")));
  return faults;
}

std::vector<std::string> StatesOutOfService(absl::string_view state) {
  std::vector<std::string> words;
  for (absl::string_view word : absl::StrSplit(state, '+')) {
    // Marks after a state: "*" for a node that does not answer, "~" for one that is powered down, …
    if (absl::EndsWith(word, "*")) words.emplace_back("NOT_RESPONDING");
    while (!word.empty() && !absl::ascii_isalpha(static_cast<unsigned char>(word.back())))
      word.remove_suffix(1);
    if (std::find(std::begin(kOutOfService), std::end(kOutOfService), word) !=
        std::end(kOutOfService))
      words.emplace_back(word);
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace muster::burnin
