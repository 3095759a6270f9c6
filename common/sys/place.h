// The only way to resolve a path.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sys/folder.h"
#include "common/sys/unique_fd.h"

namespace muster::sys {

// A name in a folder that is held: where something is, or is to be.
//
// Root works in folders that users own, and a user may replace any part of a path by a link at any
// instant. So a path is walked once, and from then on the descriptor of its folder counts:
//
//   ASSIGN_OR_RETURN(const Place place, Place::Reach("/home/ann/.profile", "removing"));
//   place.folder.AsOwner([&] { return ::unlinkat(place.folder.fd(), place.name.c_str(), 0); });
//
// A link on the way is followed only if root made it and nobody else can exchange it: it is root's
// own, and no folder up to it is foreign (/bin, /var/run). Any other link is PermissionDenied,
// naming it. A walk that meets no link leads exactly where the path says, whoever owns its folders.
// A process that is not root follows links as every program does.
struct Place {
  Folder folder;
  std::string name;  // "." for "/", which has no name in a folder

  // The last part of the path may be anything, even a link. NotFound: its folder does not exist.
  static absl::StatusOr<Place> Reach(const std::string& path, absl::string_view what);
  // The last part is not a link: one that may be followed was followed.
  static absl::StatusOr<Place> Follow(const std::string& path, absl::string_view what);
};

// The directory at `path`, through a link that may be followed. NotFound: it does not exist.
absl::StatusOr<Folder> OpenFolder(const std::string& path, absl::string_view what);

enum class LastLink { kRefuse, kFollow };

// Errors: as Folder::OpenFile().
absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int flags, LastLink last_link,
                                  absl::string_view what);

// The first folder on the way to `path` that is foreign: its owner decides what stands at the path.
// "": only root does. Missing folders will be made by root.
absl::StatusOr<std::string> ForeignFolder(const std::string& path);

}  // namespace muster::sys
