// The programs that make an image's root, as argument vectors. Pure.
//
// All of them run as the person who builds: in a user namespace in which that person's own id is
// root's, and the subordinate ids of /etc/subuid are everybody else's. Nothing gets rights on the
// machine that the person does not have.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/image/definition.h"
#include "muster/v1/image.pb.h"

namespace muster::cli {

// Where packages come from: a snapshot's repositories, a file of the person's, or, when both are
// empty, the distribution's own archive.
struct PackageSource {
  std::string snapshot_text;  // in apt's deb822 format
  std::string file;           // path of a sources.list, or of one in deb822 format
  std::string file_text;      // its content, which is a part of the base's digest
};

// The repositories in apt's deb822 format.
std::string SourcesText(
    const google::protobuf::RepeatedPtrField<v1::ImageRepository>& repositories);

// The hosts of the repositories, each once: a proxy need not know the way to the controller.
std::vector<std::string> HostsOf(
    const google::protobuf::RepeatedPtrField<v1::ImageRepository>& repositories);

// The first layer of an image: everything but its roles.
struct BaseRecipe {
  const image::Definition& definition;
  PackageSource source;
  // Paths of the tar files that are laid over the root, and digests of the folders that they are
  // of.
  std::vector<std::string> files;
  std::vector<std::string> files_sha256;
  std::string agent_package;  // path of the file
  std::string agent_sha256;
  absl::Time packages_at;                      // no file in the root is younger
  std::string proxy;                           // "": none
  std::vector<std::string> direct_hosts = {};  // that are reached without it
};

// SHA-256 over all that decides what is in the layer.
std::string BaseDigest(const BaseRecipe& recipe);

// Packs a folder of the definition's as a tar file whose files are root's and written by nobody
// else.
std::vector<std::string> PackFiles(const std::string& folder, const std::string& target);

// Makes the layer as a tar file at `target`; reads `recipe.source` from `sources`, a path ("": the
// distribution's archive).
std::vector<std::string> MakeBase(const BaseRecipe& recipe, const std::string& sources,
                                  const std::string& target);

// The folders of one build.
struct BuildPlace {
  std::string root;                 // the image's root
  std::string exchange;             // kExchangeInRoot for the programs in the root
  bool is_resolver_linked = false;  // its /etc/resolv.conf is a link
};
inline constexpr char kExchangeInRoot[] = "/run/muster-build";
inline constexpr char kRootInRoot[] = "/run/muster-root";

// Unpacks the layer at `base` into the root.
std::vector<std::string> UnpackBase(const std::string& base, const BuildPlace& place);
// Writes into the file `notes` what the root is like now, for PackChanges().
std::vector<std::string> NoteRoot(const BuildPlace& place, const std::string& notes);
// Packs what has changed since `notes` was written as the file `target`, deletions included, and
// brings `notes` up to date.
std::vector<std::string> PackChanges(const BuildPlace& place, const std::string& notes,
                                     const std::string& target);
// Unpacks such a file into the root that it was made from.
std::vector<std::string> UnpackChanges(const std::string& layer, const BuildPlace& place);
enum class Network { kYes, kNo };
// Runs `argv` in the root, with nothing of the build machine but its network, if that. Without
// network the root is also at kRootInRoot, there without anything that a running system has in it.
std::vector<std::string> InRoot(const BuildPlace& place, Network network,
                                const std::vector<std::string>& argv);
// Packs the root of an image of that kind as the file `target`; only that of a disk with /boot's
// content. The same root gives the same bytes.
std::vector<std::string> PackRoot(const BuildPlace& place, absl::Time packages_at,
                                  absl::string_view kind, const std::string& target);
// The program that such a vector is about: not what starts it in a namespace or in the root.
std::string ProgramOf(const std::vector<std::string>& argv);

// Removes folders that have files of everybody's.
std::vector<std::string> RemoveFolders(const std::vector<std::string>& folders);

}  // namespace muster::cli
