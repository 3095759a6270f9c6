// The site folder, packed into the archive that is uploaded.
#pragma once

#include <map>
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

// Packs the playbook's folder: the playbook, its roles and their files. Leaves out hidden files and
// editors' backups. Errors: the playbook cannot be read; the folder is too large (64 MiB).
absl::StatusOr<SiteBundle> PackSite(const std::string& playbook_path);

// Packs the folder that `path` leads to: a playbook's folder, a folder of playbooks, or the
// playbooks/ of a site's folder. `playbook` is empty unless `path` is one.
absl::StatusOr<SiteBundle> PackSiteAt(const std::string& path);

// Packs playbooks/suites and inventory/hardware of the site folder, which a validation needs.
// NotFound: there are no suites.
absl::StatusOr<SiteBundle> PackSuites(const std::string& site_folder);

// Packs playbooks/ of the site folder, if it has that, and the definition of an image,
// images/<image>/image.yaml, without the files beside it.
absl::StatusOr<SiteBundle> PackImage(const std::string& site_folder, const std::string& image);

// Packs a playbook that reboots each node once and does nothing else, the same bytes every time,
// and beside it the suites of the site folder unless that is empty. Its variable `reboot_reason`
// goes into the audit log.
absl::StatusOr<SiteBundle> PackReboot(const std::string& suites_of);

// Packs `files`, path → content.
absl::StatusOr<SiteBundle> PackFiles(const std::map<std::string, std::string>& files);

// Sends the bundle unless the controller has it already.
absl::Status UploadBundle(const Connection& connection, const SiteBundle& bundle);

}  // namespace muster::cli
