# shellcheck shell=bash
verb_reboot() {
  (($# == 1)) || die "reboot NODE"
  local node=$1 before start=$EPOCHREALTIME
  lab_has_node "$node"
  before=$(node_boot_id "$node") || die "$node is not running"
  node_exec "$node" systemctl --no-block reboot
  reboot_wait "$node" "$before"
  say "$node is back in $(seconds_since "$start") s"
}

# Ready means: a boot id that is not the one before, and then all of node_wait.
reboot_wait() {  # NODE BOOT-ID
  local end=$((SECONDS + 120)) now
  while ((SECONDS < end)); do
    now=$(node_boot_id "$1") || now=
    if [[ -n $now && $now != "$2" ]]; then node_wait "$1" 120; return; fi
    sleep 0.2
  done
  die "$1 did not reboot within 120 s; see $LAB_DIR/nodes/$1/console.log"
}
