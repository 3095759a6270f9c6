# The lab's network: a namespace with one bridge or two, each a switch, and one veth pair to the host
# that carries packages in. Nothing is routed: nodes cannot reach the world.
# shellcheck shell=bash

network_up() {
  local ns=$LAB_NETNS bridge
  ip netns add "$ns"
  ip -n "$ns" link set lo up
  for bridge in $(network_bridges); do
    ip -n "$ns" link add "$bridge" type bridge
    ip -n "$ns" link set "$bridge" up
  done
  ip link add "$LAB_UPLINK" type veth peer name outside netns "$ns"
  ip -n "$ns" link set outside master br0 up
  ip -n "$ns" address add "$(lab_address lab)/24" dev br0
  ip address add "$(lab_address host)/24" dev "$LAB_UPLINK"
  ip link set "$LAB_UPLINK" up
  # The uplink: what leaves switch brN goes out of upN.
  if (($(network_switches) > 1)); then
    ip -n "$ns" link add up0 type veth peer name up1
    ip -n "$ns" link set up0 master br0 up
    ip -n "$ns" link set up1 master br1 up
    echo up >"$LAB_DIR/uplink"
  fi
}

network_switches() { cat "$LAB_DIR/switches" 2>/dev/null || echo 1; }

network_bridges() { echo br0; if (($(network_switches) > 1)); then echo br1; fi; }

# Login nodes and the first half of the compute nodes are on br0, the others on br1.
network_bridge_of() {  # NODE COMPUTE
  if (($(network_switches) > 1)) && [[ $1 == c* ]] && ((2 * 10#${1#c} > $2)); then
    echo br1
  else
    echo br0
  fi
}

network_nodes_of() {  # BRIDGE
  local node
  for node in $(lab_nodes); do
    if [[ $(<"$LAB_DIR/nodes/$node/switch") == "$1" ]]; then echo "$node"; fi
  done
}

# The veth goes first and by name: another lab's mount namespace may still hold
# a copy of our namespace's mount, which would keep the pair alive.
network_down() {
  ip link delete "$LAB_UPLINK" 2>/dev/null || true
  if [[ -e /run/netns/$LAB_NETNS ]]; then ip netns delete "$LAB_NETNS" || true; fi
}

# What both ends of a link do about `rate=…`; every other state is without limits.
_shape() {  # STATE COMMAND… DEVICE: the command precedes `qdisc`
  local state=$1 device=${*: -1} tc=("${@:2:$#-2}")
  "${tc[@]}" qdisc delete dev "$device" root 2>/dev/null || true
  if [[ $state == rate=* ]]; then
    "${tc[@]}" qdisc add dev "$device" root tbf rate "${state#rate=}" burst 256kb latency 50ms
  fi
}

_up_or_down() { if [[ $1 == down ]]; then echo down; else echo up; fi; }  # STATE

# Applies what nodes/NODE/link asks for to a running node's link. The bridge's
# side carries down/up; a rate holds in both directions, so both sides shape.
link_apply() {  # NODE
  local node=$1 dev=vb-$1 want leader
  want=$(cat "$LAB_DIR/nodes/$node/link" 2>/dev/null || echo up)
  leader=$(node_leader "$node") || return 0
  ip -n "$LAB_NETNS" link set "$dev" "$(_up_or_down "$want")"
  _shape "$want" tc -n "$LAB_NETNS" "$dev"
  _shape "$want" nsenter -t "$leader" --net tc host0
}

# The same for the link between the two switches, by the file uplink.
uplink_apply() {
  local want dev
  want=$(<"$LAB_DIR/uplink")
  ip -n "$LAB_NETNS" link set up0 "$(_up_or_down "$want")"
  for dev in up0 up1; do _shape "$want" tc -n "$LAB_NETNS" "$dev"; done
}
