# The lab's network: a namespace with a bridge, and one veth pair to the host
# that carries packages in. Nothing is routed: nodes cannot reach the world.
# shellcheck shell=bash

network_up() {
  local ns=$LAB_NETNS
  ip netns add "$ns"
  ip -n "$ns" link set lo up
  ip -n "$ns" link add br0 type bridge
  ip link add "$LAB_UPLINK" type veth peer name uplink netns "$ns"
  ip -n "$ns" link set uplink master br0 up
  ip -n "$ns" link set br0 up
  ip -n "$ns" address add "$(lab_address lab)/24" dev br0
  ip address add "$(lab_address host)/24" dev "$LAB_UPLINK"
  ip link set "$LAB_UPLINK" up
}

# The veth goes first and by name: another lab's mount namespace may still hold
# a copy of our namespace's mount, which would keep the pair alive.
network_down() {
  ip link delete "$LAB_UPLINK" 2>/dev/null || true
  if [[ -e /run/netns/$LAB_NETNS ]]; then ip netns delete "$LAB_NETNS" || true; fi
}

# Applies what nodes/NODE/link asks for to a running node's link. The bridge's
# side carries down/up; a rate holds in both directions, so both sides shape.
link_apply() {  # NODE
  local node=$1 dev=vb-$1 want leader
  want=$(cat "$LAB_DIR/nodes/$node/link" 2>/dev/null || echo up)
  leader=$(node_leader "$node") || return 0
  case $want in
    down) ip -n "$LAB_NETNS" link set "$dev" down ;;
    up)   ip -n "$LAB_NETNS" link set "$dev" up ;;
  esac
  tc -n "$LAB_NETNS" qdisc delete dev "$dev" root 2>/dev/null || true
  nsenter -t "$leader" --net tc qdisc delete dev host0 root 2>/dev/null || true
  if [[ $want == rate=* ]]; then
    local shape=(root tbf rate "${want#rate=}" burst 256kb latency 50ms)
    ip -n "$LAB_NETNS" link set "$dev" up
    tc -n "$LAB_NETNS" qdisc add dev "$dev" "${shape[@]}"
    nsenter -t "$leader" --net tc qdisc add dev host0 "${shape[@]}"
  fi
}
