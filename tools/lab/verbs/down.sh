# shellcheck shell=bash
verb_down() {
  local start=$EPOCHREALTIME
  (($# == 0)) || die "down: unknown argument '$1'"
  if [[ ! -d $LAB_DIR ]]; then say "no lab '$LAB_NAME'"; return 0; fi
  lab_claim
  lab_remove
  rm -rf "$LAB_STATE_ROOT/.failed-$LAB_NAME"
  lab_disclaim
  say "lab '$LAB_NAME' is down in $(seconds_since "$start") s"
}

# Removes everything of a lab, each part on its own: a part that was never made
# or is gone already stops nothing.
lab_remove() {
  local node stops=()
  if [[ -d $LAB_DIR ]]; then
    for node in $(lab_nodes); do
      node_stop "$node" &
      stops+=($!)
    done
    # Not a bare wait: within `up`, the lab's daemons are children as well.
    if ((${#stops[@]})); then wait "${stops[@]}" || true; fi
    for node in $(lab_bmcs); do bmc_stop "$node"; done
    for node in $(lab_machines); do machine_stop "$node"; done
    cache_forward_stop
  fi
  network_down
  disks_unmount
  rm -rf "$LAB_DIR"
  cache_stop_if_unused
}
