#include "common/sys/lldp_neighbors.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "common/base/status.h"
#include "common/sys/process/process.h"

namespace muster::sys {
namespace {

using Json = nlohmann::json;

// No real name is longer than this.
constexpr size_t kMostBytes = 256;
// The most neighbors of one interface: with more, it is not a switch.
constexpr size_t kMostNames = 8;
constexpr absl::Duration kPatience = absl::Seconds(4);
constexpr size_t kMaxOutput = size_t{1} << 20;

// The entries of a list, or a single entry without its list.
std::vector<const Json*> Entries(const Json& value) {
  std::vector<const Json*> entries;
  if (value.is_array()) {
    for (const Json& entry : value) entries.push_back(&entry);
  } else {
    entries.push_back(&value);
  }
  return entries;
}

const Json* Member(const Json* object, const char* key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto it = object->find(key);
  if (it == object->end()) return nullptr;
  return it->is_array() ? (it->empty() ? nullptr : &it->front()) : &*it;
}

std::string Printable(std::string word) {
  for (char& c : word)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return word.substr(0, kMostBytes);
}

// A string itself, or the "value" of an object.
std::string Word(const Json* value) {
  if (value != nullptr && value->is_object()) value = Member(value, "value");
  if (value == nullptr || !value->is_string()) return "";
  return Printable(value->get<std::string>());
}

std::string Either(std::string first, const Json* second) {
  return first.empty() ? Word(second) : first;
}

LldpNeighbor Neighbor(const Json& entry) {
  LldpNeighbor neighbor;
  const Json* chassis = Member(&entry, "chassis");
  std::string name = Word(Member(chassis, "name"));
  neighbor.system = Either(name, Member(chassis, "id"));
  // `-f json` has {"chassis": {"switch1": {"id": …}}}.
  if (neighbor.system.empty() && chassis != nullptr && chassis->is_object() && chassis->size() == 1)
    neighbor.system = name = Printable(chassis->begin().key());
  if (!name.empty()) neighbor.names.push_back(std::move(name));
  const Json* port = Member(&entry, "port");
  const Json* id = Member(port, "id");
  const std::string type = Word(Member(id, "type"));
  // The text on the port's label, if its id is only an address or a number.
  neighbor.port = type == "mac" || type == "local" ? Either(Word(Member(port, "descr")), id)
                                                   : Either(Word(id), Member(port, "descr"));
  return neighbor;
}

void AddNeighbor(const std::string& name, const Json& entry, LldpNeighbors& neighbors) {
  LldpNeighbor neighbor = Neighbor(entry);
  if (name.empty() || (neighbor.system.empty() && neighbor.port.empty())) return;
  const auto [first, is_new] = neighbors.try_emplace(name, neighbor);
  if (is_new || neighbor.names.empty() || first->second.names.size() >= kMostNames) return;
  first->second.names.push_back(std::move(neighbor.names.front()));
}

}  // namespace

absl::StatusOr<LldpNeighbors> ReadLldpNeighbors(ProcessRunner& processes) {
  ASSIGN_OR_RETURN(const ProcessResult read,
                   RunChecked(processes, {.argv = {"lldpcli", "-f", "json0", "show", "neighbors"},
                                          .timeout = kPatience,
                                          .max_output = kMaxOutput}));
  return ParseLldpNeighbors(read.out);
}

absl::StatusOr<LldpNeighbors> ParseLldpNeighbors(absl::string_view json) {
  const Json document = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return absl::InvalidArgumentError("lldpcli did not print JSON");
  LldpNeighbors neighbors;
  if (!document.is_object() || !document.contains("lldp")) return neighbors;
  for (const Json* lldp : Entries(document["lldp"])) {
    if (!lldp->is_object() || !lldp->contains("interface")) continue;
    for (const Json* entry : Entries((*lldp)["interface"])) {
      if (!entry->is_object()) continue;
      if (const std::string name = Word(Member(entry, "name")); !name.empty()) {
        AddNeighbor(name, *entry, neighbors);
        continue;
      }
      for (const auto& [interface, inside] : entry->items())
        AddNeighbor(interface, inside, neighbors);
    }
  }
  return neighbors;
}

}  // namespace muster::sys
