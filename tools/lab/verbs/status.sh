# shellcheck shell=bash
verb_status() {
  local dir name
  if [[ ! $LAB_NAME_GIVEN ]]; then
    for dir in "$LAB_STATE_ROOT"/*/; do
      [[ -e $dir/subnet ]] || continue
      name=${dir%/}
      lab_paths "${name##*/}"
      status_of_lab
    done
    return 0
  fi
  [[ -d $LAB_DIR ]] || die "no lab '$LAB_NAME'"
  status_of_lab
}

status_of_lab() {
  local node
  echo "lab $LAB_NAME: $(cat "$LAB_DIR/suite"), host $(lab_address host), from $(cat "$LAB_DIR/checkout")"
  if [[ -e $LAB_DIR/uplink ]]; then echo "  two switches, uplink $(<"$LAB_DIR/uplink")"; fi
  for node in $(lab_nodes); do
    printf '  %-8s %-12s %-9s %s link %s\n' "$node" "$(lab_address "$node")" "$(node_state "$node")" \
      "$(<"$LAB_DIR/nodes/$node/switch")" "$(<"$LAB_DIR/nodes/$node/link")"
  done
  for node in $(lab_machines); do
    printf '  %-8s %-12s %-9s %s %s\n' "$node" "$(lab_address "$node")" "$(machine_state "$node")" \
      "$(machine_get "$node" firmware uefi)" "$(machine_get "$node" mac -)"
  done
}

# Calls a function and prints the name of each node that runs.
for_each_running_node() {  # FUNCTION
  local node
  for node in $(lab_nodes); do
    node_leader "$node" >/dev/null || continue
    "$1" "$node"
    echo "$node"
  done
}
