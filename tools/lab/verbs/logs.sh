# shellcheck shell=bash

# Collects what explains a failure: consoles, journals, the lab's own logs.
verb_logs() {
  (($# == 1)) || die "logs FOLDER"
  local folder=$1 node
  [[ -d $LAB_DIR/nodes ]] || die "no lab '$LAB_NAME'"
  mkdir -p "$folder"
  cp "$LAB_DIR"/*.log "$folder/" 2>/dev/null || true
  for node in $(lab_machines); do
    cp "$LAB_DIR/machines/$node/console" "$folder/$node.console.log"
    cp "$LAB_DIR/machines/$node/machine.log" "$folder/$node.machine.log" 2>/dev/null || true
  done
  for node in $(lab_nodes); do
    cp "$LAB_DIR/nodes/$node/console.log" "$folder/$node.console.log" 2>/dev/null || true
    node_leader "$node" >/dev/null || continue
    node_exec "$node" journalctl --no-pager --output=short-precise >"$folder/$node.journal.log" 2>/dev/null || true
  done
}
