# Management controllers, which speak IPMI in the lab's network: of each machine, and with `lab up --bmcs` of each
# compute node. A BMC is on as long as its lab, whatever its node is.
# shellcheck shell=bash

readonly BMC_USER=muster BMC_PASSWORD=of-the-bmc

lab_bmcs() {  # the nodes that have one
  local dir
  for dir in "$LAB_DIR"/bmcs/*/; do
    [[ ! -d $dir ]] || basename "$dir"
  done
}

# Its one sensor is a power supply, which is there; the record that describes it is a compact one of the
# IPMI specification 2.0, table 43-2. Port 9001 takes the simulator's commands. Without a history of the serial
# port, which nobody asks for, the simulator stops reading it for ever when its buffer has been full for too long.
bmc_start() {  # NODE
  local node=$1 dir=$LAB_DIR/bmcs/$1 address console
  address=$(lab_bmc_address "$node")
  console=$LAB_DIR/nodes/$node/upper/console
  [[ ! -d $LAB_DIR/machines/$node ]] || console=$LAB_DIR/machines/$node/console
  mkdir -p "$dir/state"
  echo "$address" >"$dir/address"
  cat >"$dir/lan.conf" <<EOF
name "$node"
console $address 9001
set_working_mc 0x20
  startlan 1
    addr $address 623
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "$LAB_SOURCE/bmc-chassis $LAB_NAME $node"
  sol "tcp:$address:9002" 115200 history=4000
  user 1 false "" "" user 10 none
  user 2 true "$BMC_USER" "$BMC_PASSWORD" admin 10 none md2 md5 straight
EOF
  cat >"$dir/machine.emu" <<EOF
mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02
sel_enable 0x20 1000 0x0a
sensor_add 0x20 0 1 0x08 0x6f
sensor_set_event_support 0x20 0 1 enable scanning per-state $(printf ' %015d' 1111 1111 1111 1111)
main_sdr_add 0x20 1 0 0x51 2 31 $(printf ' %d' 0x20 0 1 0x0a 1 0x67 0x40 8 0x6f 255 7 255 7 255 7 0xc0 0 0 1 0 0 0 0 0 0 0 0xc4) 0x50 0x53 0x55 0x31
sensor_set_bit 0x20 0 1 0 1 0
mc_enable 0x20
EOF
  ip -n "$LAB_NETNS" address add "$address/24" dev br0
  setsid nsenter --net="/run/netns/$LAB_NETNS" -- "$LAB_SOURCE/serial-port" "$address" 9002 "$console" \
    </dev/null >>"$dir/serial.log" 2>&1 7>&- &
  process_record "$dir/serial.pid" $!
  # Otherwise the simulator tries again ten seconds later, and sends nothing from a port that it then has while
  # somebody reads.
  # shellcheck disable=SC2016  # the other shell expands it
  nsenter --net="/run/netns/$LAB_NETNS" -- \
    bash -c 'for i in {1..100}; do (: <>"/dev/tcp/$0/9002") 2>/dev/null && exit; sleep 0.1; done; exit 1' "$address" ||
    die "no serial port of $node; see $dir/serial.log"
  setsid nsenter --net="/run/netns/$LAB_NETNS" -- ipmi_sim -n -c "$dir/lan.conf" -f "$dir/machine.emu" \
    -s "$dir/state" </dev/null >>"$dir/bmc.log" 2>&1 7>&- &
  process_record "$dir/bmc.pid" $!
}

bmc_stop() {  # NODE
  process_stop "$LAB_DIR/bmcs/$1/bmc.pid"
  process_stop "$LAB_DIR/bmcs/$1/serial.pid"
}
