# shellcheck shell=bash
verb_machine() {
  local node=${1:-} change
  (($#)) || die "machine NODE [KEY=VALUE…]
  $MACHINE_KEYS"
  lab_has_machine "$node"
  for change in "${@:2}"; do machine_set "$node" "$change"; done
  cat "$LAB_DIR/machines/$node/hardware"
}
