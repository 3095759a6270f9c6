# shellcheck shell=bash

# Follows it until Ctrl-C.
verb_console() {
  (($# == 1)) || die "console NODE"
  local file=$LAB_DIR/machines/$1/console
  if ! lab_has_machine_named "$1"; then
    lab_has_node "$1"
    file=$LAB_DIR/nodes/$1/console.log
  fi
  exec tail -n +1 -F "$file"
}
