#include "agent/burnin/nic/link/lldp.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace muster::burnin {
namespace {

using Json = nlohmann::json;

// No real name is longer than this.
constexpr size_t kMaxName = 256;
// The most neighbours of one interface: with more, it is not a switch.
constexpr size_t kMaxNames = 8;

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

const Json* Find(const Json* object, const char* key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto it = object->find(key);
  if (it == object->end()) return nullptr;
  return it->is_array() ? (it->empty() ? nullptr : &it->front()) : &*it;
}

std::string Printable(std::string word) {
  for (char& c : word)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return word.substr(0, kMaxName);
}

// A string itself, or the "value" of an object.
std::string Word(const Json* value) {
  if (value != nullptr && value->is_object()) value = Find(value, "value");
  if (value == nullptr || !value->is_string()) return "";
  return Printable(value->get<std::string>());
}

std::string Either(std::string first, const Json* second) {
  return first.empty() ? Word(second) : first;
}

LldpNeighbor Neighbor(const Json& entry) {
  LldpNeighbor neighbor;
  const Json* chassis = Find(&entry, "chassis");
  std::string name = Word(Find(chassis, "name"));
  neighbor.system = Either(name, Find(chassis, "id"));
  // `-f json` has {"chassis": {"switch1": {"id": …}}}.
  if (neighbor.system.empty() && chassis != nullptr && chassis->is_object() && chassis->size() == 1)
    neighbor.system = name = Printable(chassis->begin().key());
  if (!name.empty()) neighbor.names.push_back(std::move(name));
  const Json* port = Find(&entry, "port");
  const Json* id = Find(port, "id");
  const std::string type = Word(Find(id, "type"));
  // The text on the port's label, if its id is only an address or a number.
  neighbor.port = type == "mac" || type == "local" ? Either(Word(Find(port, "descr")), id)
                                                   : Either(Word(id), Find(port, "descr"));
  return neighbor;
}

void Add(const std::string& name, const Json& entry,
         std::map<std::string, LldpNeighbor>& neighbors) {
  LldpNeighbor neighbor = Neighbor(entry);
  if (name.empty() || (neighbor.system.empty() && neighbor.port.empty())) return;
  const auto [first, is_new] = neighbors.try_emplace(name, neighbor);
  if (is_new || neighbor.names.empty() || first->second.names.size() >= kMaxNames) return;
  first->second.names.push_back(std::move(neighbor.names.front()));
}

}  // namespace

absl::StatusOr<std::map<std::string, LldpNeighbor>> ParseLldpNeighbors(absl::string_view json) {
  const Json document = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return absl::InvalidArgumentError("lldpcli did not print JSON");
  std::map<std::string, LldpNeighbor> neighbors;
  if (!document.is_object() || !document.contains("lldp")) return neighbors;
  for (const Json* lldp : Entries(document["lldp"])) {
    if (!lldp->is_object() || !lldp->contains("interface")) continue;
    for (const Json* entry : Entries((*lldp)["interface"])) {
      if (!entry->is_object()) continue;
      if (const std::string name = Word(Find(entry, "name")); !name.empty()) {
        Add(name, *entry, neighbors);
        continue;
      }
      for (const auto& [interface, inside] : entry->items()) Add(interface, inside, neighbors);
    }
  }
  return neighbors;
}

}  // namespace muster::burnin
