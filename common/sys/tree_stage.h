// Builds whole trees aside and then puts them in place.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/sys/place.h"

namespace muster::sys {

// A private folder on the file system of a place, with a tree in it that nobody else can reach
// before it is put there, not even the owner of the folder that it is made in. Destruction removes
// whatever is left in it, including a tree that was taken away from the place.
class TreeStage {
 public:
  // Makes the folder `name` beside `place`, or inside it if another file system is mounted there;
  // the remains of a crash are removed first. NotFound: the place has no folder.
  static absl::StatusOr<std::unique_ptr<TreeStage>> Make(const std::string& place,
                                                         const std::string& name);
  ~TreeStage();
  TreeStage(const TreeStage&) = delete;
  TreeStage& operator=(const TreeStage&) = delete;

  // The tree's own directory, empty at first.
  const Folder& tree() const { return tree_; }
  // Makes the contents of the tree durable.
  absl::Status Sync() const;

  // Puts the tree at the place, where nothing may be, in one step.
  absl::Status MoveIn(uid_t uid, gid_t gid);
  // Exchanges the tree for the directory at the place, whose owner and mode the new one gets. An
  // error where the file system cannot do this; nothing was changed then.
  absl::Status SwapIn();
  // Moves the contents of the tree into the directory at the place, file by file, each in one step.
  // Directories that are in both keep their contents. FailedPrecondition, before anything was
  // moved, where one has a directory and the other does not; no link is followed.
  absl::Status MergeIn();

 private:
  // `base` holds the folder `name`, which is `stage`, which holds `tree`.
  TreeStage(std::string path, Place place, Folder base, std::string name, Folder stage, Folder tree,
            bool beside)
      : path_(std::move(path)),
        place_(std::move(place)),
        base_(std::move(base)),
        name_(std::move(name)),
        stage_(std::move(stage)),
        tree_(std::move(tree)),
        beside_(beside) {}
  absl::Status Rename(unsigned flags);

  const std::string path_;  // of the place
  const Place place_;
  const Folder base_;
  const std::string name_;
  const Folder stage_;
  const Folder tree_;
  const bool beside_;
};

}  // namespace muster::sys
