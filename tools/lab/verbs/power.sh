# shellcheck shell=bash

# What a management board does: no orderly shutdown.
verb_power() {
  (($# == 2)) || die "power NODE on|off|cycle"
  local node=$1 dir=$LAB_DIR/nodes/$1 leader before
  if lab_has_machine_named "$node"; then
    power_machine "$node" "$2"
    return
  fi
  lab_has_node "$node"
  case $2 in
    on)  node_start "$node"; node_wait "$node" 120 ;;
    off) node_stop "$node" ;;
    cycle)
      leader=$(node_leader "$node") || die "$node is not running"
      before=$(node_boot_id "$node") || die "$node has not booted"
      : >"$dir/power-cycle"
      kill -KILL "$leader"
      reboot_wait "$node" "$before" ;;
    *) die "power NODE on|off|cycle" ;;
  esac
}

power_machine() {  # NODE on|off|cycle
  case $2 in
    on)    machine_start "$1" ;;
    off)   machine_stop "$1" ;;
    cycle) machine_stop "$1"; machine_start "$1" ;;
    *) die "power NODE on|off|cycle" ;;
  esac
}
