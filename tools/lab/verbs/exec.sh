# shellcheck shell=bash
verb_exec() {
  (($#)) || die "exec NODE [CMD…]"
  local node=$1
  shift
  lab_has_node "$node"
  (($#)) || set -- bash -l
  node_exec "$node" "$@"
}
