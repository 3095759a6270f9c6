// Ids of accounts that would change.
#pragma once

#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::agent {

struct ResourceContext;
struct User;

// OK unless processes of `user` run: no id changes below them, as usermod has it for a uid. `kind`
// is "uid" or "gid". Unavailable otherwise. Not FailedPrecondition: check mode assumes that an
// earlier change resolves it, and a first apply changes nearly everything, so that its check would
// foresee nothing of the refusal. A plan that ends the processes itself fails in check mode.
absl::Status CheckIdMayChange(absl::string_view kind, const User& user, id_t before, id_t after,
                              ResourceContext& context);

}  // namespace muster::agent
