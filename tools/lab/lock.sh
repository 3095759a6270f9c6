# Locks. One for what labs share: subnet numbers and the package cache; and one
# a lab, so that no two commands build or remove the same one.
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

# Held until this command ends. Daemons must close fd 7 as well.
lab_claim() {
  mkdir -p "$LAB_STATE_ROOT"
  local file=$LAB_STATE_ROOT/.$LAB_NAME.lock
  while true; do
    exec 7>"$file"
    flock -w 120 7 || die "another command is still building or removing lab '$LAB_NAME'"
    # Whoever held it may have removed the file: then this lock guards nothing.
    [[ /proc/self/fd/7 -ef $file ]] && return 0
  done
}

lab_disclaim() {
  rm -f "$LAB_STATE_ROOT/.$LAB_NAME.lock"
  exec 7>&-
}
