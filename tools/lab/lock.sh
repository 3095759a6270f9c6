# One lock for what labs share: subnet numbers and the package cache.
# shellcheck shell=bash

# Runs a function with the lock held. Daemons started inside must close fd 9,
# or they would hold it for as long as they live.
with_lock() {  # FUNCTION ARGS…
  local rc=0
  mkdir -p "$LAB_STATE_ROOT"
  exec 9>"$LAB_LOCK"
  flock 9
  "$@" || rc=$?
  exec 9>&-
  return "$rc"
}
