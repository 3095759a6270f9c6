// The site folder as the archive that is uploaded.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::cli {

class Connection;

struct SiteBundle {
  std::string archive;   // .tar.gz; the same files give the same bytes
  std::string sha256;    // of the archive, hex
  std::string playbook;  // the playbook's path inside the archive
};

// Packs the playbook's folder: it, its roles and their files. Hidden files and editors' backups
// are left out. Errors: the playbook cannot be read; the folder is too large (64 MiB).
absl::StatusOr<SiteBundle> PackSite(const std::string& playbook_path);

// Packs what a path names: a playbook's folder, a folder of playbooks, or the playbooks/ of a
// site's folder. `playbook` is empty unless the path is one.
absl::StatusOr<SiteBundle> PackSiteAt(const std::string& path);

// Packs playbooks/suites and inventory/hardware of the site folder: what a validation needs.
// NotFound: there are no suites.
absl::StatusOr<SiteBundle> PackSuites(const std::string& site_folder);

// Sends the bundle unless the controller has it already.
absl::Status UploadBundle(const Connection& connection, const SiteBundle& bundle);

}  // namespace muster::cli
