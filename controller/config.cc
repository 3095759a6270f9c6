#include "controller/config.h"

#include <array>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/yaml/document.h"
#include "common/yaml/map_reader.h"

namespace muster::controller {
namespace {

constexpr absl::string_view kEnrollmentPort = "7444";

struct Key {
  absl::string_view name;
  std::string Config::*member;
  bool is_required;
  bool is_address;
  // Allowed values, of an address in addition; empty: any.
  std::array<absl::string_view, 2> words = {};
};
constexpr Key kKeys[] = {
    {"cluster", &Config::cluster, true, false},
    {"controller_address", &Config::controller_address, true, true},
    {"enrollment_address", &Config::enrollment_address, false, true},
    {"listen", &Config::listen, false, true},
    {"enrollment_listen", &Config::enrollment_listen, false, true},
    {"package_listen", &Config::package_listen, false, true},
    {"metrics_listen", &Config::metrics_listen, false, true, {"off"}},
    {"web_listen", &Config::web_listen, false, true, {"off"}},
    {"web_address", &Config::web_address, false, true},
    {"web_certificate", &Config::web_certificate, false, false},
    {"web_key", &Config::web_key, false, false},
    {"boot_listen", &Config::boot_listen, false, true, {"off"}},
    {"pki_directory", &Config::pki_directory, false, false},
    {"state_directory", &Config::state_directory, false, false},
    {"package_directory", &Config::package_directory, false, false},
    {"snapshot_gib", &Config::snapshot_gib, false, false},
    {"image_gib", &Config::image_gib, false, false},
    {"backup_hours", &Config::backup_hours, false, false},
    {"slurm_gate", &Config::slurm_gate, false, false, {"on", "off"}},
    {"operator_bundles", &Config::operator_bundles, false, false, {"approved", "any"}},
    {"secret_readers", &Config::secret_readers, false, false, {"named", "any"}},
    {"exec", &Config::exec, false, false, {"on", "off"}},
};

// Whole numbers.
struct Bound {
  absl::string_view name;
  std::string Config::*member;
  absl::string_view unit;
};
constexpr Bound kBounds[] = {
    {"snapshot_gib", &Config::snapshot_gib, "GiB"},
    {"image_gib", &Config::image_gib, "GiB"},
    {"backup_hours", &Config::backup_hours, "hours"},
};

bool IsAddress(absl::string_view text) {
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  return colon != absl::string_view::npos && colon > 0 &&
         absl::SimpleAtoi(text.substr(colon + 1), &port) && port <= 65535;
}

}  // namespace

std::string HostOf(absl::string_view address) {
  return std::string(address.substr(0, address.rfind(':')));
}

absl::StatusOr<Config> ParseConfig(absl::string_view file_name, absl::string_view text) {
  ASSIGN_OR_RETURN(const yaml::Document document, yaml::Document::Parse(file_name, text));
  yaml::MapReader reader(document, document.root(), "controller");
  Config config;
  for (const Key& key : kKeys) {
    std::string& value = config.*key.member;
    RETURN_IF_ERROR(key.is_required ? reader.Required(key.name, &value)
                                    : reader.Optional(key.name, &value));
    const yaml::Node* node = document.root().Find(key.name);
    const bool is_word = !key.words[0].empty() && value == key.words[0];
    if (key.is_address && node != nullptr && !IsAddress(value) && !is_word)
      return document.Error(
          *node,
          absl::StrCat(key.name, " must be host:port",
                       key.words[0].empty() ? "" : absl::StrCat(" or \"", key.words[0], "\"")));
    if (!key.is_address && node != nullptr && !key.words[0].empty() && value != key.words[0] &&
        value != key.words[1])
      return document.Error(*node, absl::StrCat(key.name, " must be \"", key.words[0], "\" or \"",
                                                key.words[1], "\""));
  }
  RETURN_IF_ERROR(reader.Finish());
  for (const Bound& bound : kBounds) {
    uint32_t number = 0;
    if (!absl::SimpleAtoi(config.*bound.member, &number))
      return document.Error(*document.root().Find(bound.name),
                            absl::StrCat(bound.name, " must be a whole number of ", bound.unit));
  }
  if (config.web_certificate.empty() != config.web_key.empty()) {
    const bool has_key = config.web_certificate.empty();
    return document.Error(*document.root().Find(has_key ? "web_key" : "web_certificate"),
                          "web_certificate and web_key belong together: set both or neither");
  }
  if (config.enrollment_address.empty())
    config.enrollment_address =
        absl::StrCat(HostOf(config.controller_address), ":", kEnrollmentPort);
  return config;
}

absl::StatusOr<Config> LoadConfig(const std::string& path) {
  const absl::StatusOr<std::string> text = sys::RealFileSystem().Read(path);
  if (!text.ok()) return Annotate(text.status(), "run `muster init` to make a cluster's settings");
  return ParseConfig(path, *text);
}

}  // namespace muster::controller
