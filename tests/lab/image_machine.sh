# For tests that boot an emulated machine, d001, from the lab's boot server. Sourced after image_user.sh: a UEFI
# machine on the nodes' switch with nothing but a network card whose own boot program is left out, and what a test
# asks of it. Without hardware support a boot takes minutes.
# shellcheck shell=bash
# shellcheck disable=SC2154  # work is image_user.sh's

# shellcheck disable=SC2034  # tests read limit
readonly mac=52:54:00:99:00:01 limit=600
readonly netns=muster-$LAB_TEST_NAME
emulator=
site=$(mktemp -d)  # root's own; the user's is not root's to trust
is_off() { ! kill -0 "$emulator" 2>/dev/null; }
power_off() {
  [[ -z $emulator ]] || { kill "$emulator" && wait "$emulator"; } 2>/dev/null || true
  emulator=
}
clean() {
  power_off
  rm -rf "$site"
  remove_image_user
}
says_on_console() { says -a "$1" cat "$work/console"; }  # TEXT
power_on() {  # ARGS OF qemu…; machine_mac: another machine than d001; machine_firmware: .secboot has Secure Boot
  : >"$work/console"
  cp -n /usr/share/OVMF/OVMF_VARS_4M.fd "$work/vars.fd"
  local secure=()
  # Its variables are out of the operating system's reach.
  [[ -z ${machine_firmware:-} ]] || secure=(-global driver=cfi.pflash01,property=secure,value=on)
  ip netns exec "$netns" qemu-system-x86_64 -machine q35,smm=on -cpu max -smp 2 -m 2048 -display none -monitor none \
    -drive "if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M${machine_firmware:-}.fd" "${secure[@]}" \
    -drive "if=pflash,format=raw,file=$work/vars.fd" -device virtio-rng-pci \
    -netdev tap,id=n0,ifname=boot0,script=no,downscript=no \
    -device "virtio-net-pci,netdev=n0,mac=${machine_mac:-$mac},romfile=,bootindex=1" -serial "file:$work/console" "$@" &
  emulator=$!
}
make_disk() { truncate -s 8G "$work/disk"; }
power_on_with_disk() {  # ARGS OF qemu…: boots from the network first; with disk_first from the disk, minutes earlier
  power_on -drive "if=none,id=d0,format=raw,file=$work/disk" \
    -device "virtio-blk-pci,drive=d0,serial=LAB0001,bootindex=${disk_first:-2}" "$@"
}
# The steps of the machine's last boot, one word each.
steps() {
  muster -o json boot show d001 | read_json '
print(*[step["phase"].removeprefix("BOOT_PHASE_").lower() for step in value["nodes"][0].get("last", {}).get("steps", [])])'
}
has_event() { says -F "$1" muster event list d001 --kind boot; }  # KIND
node_json() { muster -o json node list d001 | read_json 'print(value["nodes"][0].get(sys.argv[1], ""))' "$1"; }  # FIELD
is_waiting() { [[ -n $(node_json enrollment_fingerprint) ]]; }
is_connected() { [[ $(node_json connected) == True ]]; }
is_connected_after() {  # BOOT: and runs another; tests have their way to its boot_id
  local boot
  is_connected && boot=$(boot_id) && [[ -n $boot && $boot != "$1" ]]
}
has_step() { [[ " $(steps) " == *" $1 "* ]]; }  # STEP
next() { muster -o json boot show d001 | read_json 'print(value["nodes"][0]["next"])'; }

# A cluster with a boot server on login1, and the user who builds images.
start_boot_server() {
  start_cluster 1
  make_image_user
  address=$(awk '$2 == "login1" {print $1}' "$(lab_folder)/hosts")
  network=${address%.*}
  mkdir "$work/inventory"
  cp "$(lab_folder)"/inventory/* "$work/inventory/"
  cat >"$work/inventory/boot.yaml" <<YAML
nodes:
  d001: {role: compute, address: $network.240, mac: "$mac"}
vars:
  boot_server_host: login1
  boot_server_interface: host0
  boot_server_dhcp_range: $network.200,$network.250,255.255.255.0
YAML
  muster inventory apply "$work/inventory" >/dev/null
  lab exec login1 sed -i "s/^boot_listen: .*/boot_listen: $address:7483/" /etc/muster/controller.yaml
  lab exec login1 systemctl restart musterd
  wait_for 30 "musterd with its boot server" muster status

  step "the role boot_server"
  cp -r playbooks "$site/"
  cat >"$site/playbooks/boot.yaml" <<YAML
- play: boot server
  hosts: login1
  roles:
    - base
    - {role: boot_server, needs: [base]}
YAML
  join login1
  apply "$site/playbooks/boot.yaml"
  expect_applied 0 "the boot server"
  ip -n "$netns" tuntap add dev boot0 mode tap
  ip -n "$netns" link set boot0 master br0 up
}
