#!/bin/bash
# A machine with an empty disk is only switched on: it boots an image for disks from the network, writes it to the
# disk and boots from there, also when its power fails in the middle of that. It joins and stays the same node. A
# rollout moves it to another image; one whose kernel panics is left for the image before it, by itself, and its
# rollout has failed. `./dev nightly boot` runs it: without hardware support a boot takes a minute or two.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/image_user.sh
source "$(dirname "$0")/image_user.sh"
# shellcheck source=tests/lab/image_machine.sh
source "$(dirname "$0")/image_machine.sh"

on_node() {  # COMMAND…: as root of d001, whose host key may never change
  ip netns exec "$netns" ssh -F "$(lab_folder)/ssh/config" -o UserKnownHostsFile="$work/known_hosts" \
    -o StrictHostKeyChecking=accept-new "root@$network.231" "$@"
}
answers() { on_node true </dev/null; }
boot_id() { on_node cat /proc/sys/kernel/random/boot_id </dev/null; }
slot() { on_node cat /proc/cmdline </dev/null | sed 's/.*muster.slot=\(.\).*/\1/'; }
on_disk() { muster -o json boot show d001 | read_json 'print(value["nodes"][0].get("disk", ""))'; }
build_name() {  # IMAGE: as messages name its newest build
  muster -o json image show "$1" | read_json 'print(value["manifest"]["name"] + "@" + value["digest"][:12])'
}

GATE=on start_boot_server
lab machine d001 tpm=no
image=$work/site/images/stateful
mkdir -p "$image/files/root/.ssh"
cp "$(lab_folder)/ssh/id_ed25519.pub" "$image/files/root/.ssh/authorized_keys"
chmod 700 "$image/files/root/.ssh"
small_image stateful debian-worker-disk 's/^  - disk-boot$/&\n  - stateful\/files/
  s/root_mib: .*/root_mib: 1024/; s/state_mib: .*/state_mib: 1024/'

step "the build"
build stateful
expect_equal 0 "$RC" "exit code"
expect_equal disk "$(muster -o json image show stateful | read_json 'print(value["manifest"]["kind"])')" "its kind"
first=$(build_name stateful)
sed -i 's/^vars:/&\n  boot: stateful/' "$inventory"
muster inventory apply "$work/inventory" >/dev/null

step "the power fails while the disk is written"
power_on first=network
wait_for $limit "the writing" says_on_console "muster: writing $first"
power_off
expect_equal "" "$(on_disk)" "what the disk holds"

step "the machine is switched on, and nothing else"
power_on first=network
wait_for $limit "the disk" has_step written
expect_equal "$first" "$(on_disk)" "what the disk holds"
wait_for $limit "a boot from the disk" says_on_console "muster: root a is as its digest says"
wait_for $limit "a way in" answers
expect_equal a "$(slot)" "the root"

step "it joins"
read -r token pin < <(muster -o json token create --nodes d001 | read_json '
print(value["tokens"][0]["token"], value["ca_pin"])')
on_node muster-agent join --controller login1:7443 --enrollment login1:7444 --node d001 --ca-pin "$pin" \
  --token-file - <<<"$token"
wait_for 120 "its agent" is_connected_after ""
wait_for 60 "the root to stay" has_event boot.healthy
uuid=$(on_node cat /var/lib/muster/node.uuid </dev/null)
before=$(boot_id)

step "after a reboot it is the same node"
on_node systemctl reboot </dev/null || true
wait_for $limit "the agent after the reboot" is_connected_after "$before"
expect_equal "$uuid" "$(on_node cat /var/lib/muster/node.uuid </dev/null)" "the node"

step "a state partition with a fault is mended before it is mounted"
# shellcheck disable=SC2016  # the shell there expands it
sector=$(on_node 'cat "/sys/class/block/$(basename "$(readlink -f /dev/disk/by-partlabel/muster-state)")/start"' </dev/null)
before=$(boot_id)
on_node systemctl poweroff </dev/null || true
wait_for 120 "the end of the machine" is_off
debugfs -w -R "set_super_value state 2" "$machine/disk?offset=$((sector * 512))"
power_on
wait_for $limit "the agent after that" is_connected_after "$before"
on_node '/sbin/dumpe2fs -h /dev/disk/by-partlabel/muster-state | grep -q "^Filesystem state: *clean$"' </dev/null ||
  fail "the fault is still there"
expect_equal "$uuid" "$(on_node cat /var/lib/muster/node.uuid </dev/null)" "the node"

# The first of the images that the node is to run, by a playbook of its own.
cat >"$site/playbooks/image.yaml" <<'YAML'
- play: images on disks
  hosts: d001
  roles:
    - {role: disk_image, when: disk_image != ""}
YAML
move_to() {  # BUILD: by the inventory and a rollout, whose id is in rollout afterwards
  sed -i "s/^  boot: .*/  boot: $1/" "$inventory"
  muster inventory apply "$work/inventory" >/dev/null
  show muster update "$site/playbooks/image.yaml" --yes --detach
  rollout=$(muster -o json rollout list | read_json 'print(value["rollouts"][0]["rollout_id"])')
}
of_rollout() { muster -o json rollout show "$rollout" | read_json 'print(value.get(sys.argv[1], ""))' "$1"; }  # FIELD
is_rollout() { [[ $(of_rollout state) == "$1" ]]; }  # STATE
await_rollout() {  # SECONDS STATE
  local end=$((SECONDS + $1))
  until is_rollout "$2" 2>/dev/null; do
    ((SECONDS < end)) || { muster rollout show "$rollout"; muster run list; muster boot show d001; fail "$2: not in time"; }
    sleep 1
  done
}

step "a rollout moves it to another image"
mkdir -p "$image/second/etc"
touch "$image/second/etc/second"
sed -i 's/^  - stateful\/files$/&\n  - stateful\/second/' "$image/image.yaml"
chown -R "$user:" "$work/site"
build stateful
expect_equal 0 "$RC" "exit code"
second=$(build_name stateful)
move_to "$second"
await_rollout $((2 * limit)) completed
expect_equal "$second" "$(on_disk)" "what the disk holds"
expect_equal b "$(slot)" "the root"
expect_equal "$uuid" "$(on_node cat /var/lib/muster/node.uuid </dev/null)" "the node"
on_node test -e /etc/second </dev/null
show muster update "$site/playbooks/image.yaml" --yes
expect_equal b "$(slot)" "the root after an update without another image"

step "an image that panics"
mkdir -p "$image/broken/etc/systemd/system/multi-user.target.wants"
cat >"$image/broken/etc/systemd/system/broken.service" <<'UNIT'
[Unit]
ConditionKernelCommandLine=muster.slot
Before=muster-agent.service muster-disk.service

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo c >/proc/sysrq-trigger'
UNIT
ln -s ../broken.service "$image/broken/etc/systemd/system/multi-user.target.wants/broken.service"
sed -i 's/^  - stateful\/files$/&\n  - stateful\/broken/' "$image/image.yaml"
chown -R "$user:" "$work/site"
build stateful
expect_equal 0 "$RC" "exit code"
third=$(build_name stateful)
before=$(boot_id)
: >"$machine/console"
move_to "$third"
wait_for $((2 * limit)) "the update on the disk" has_step written
expect_equal "$third" "$(on_disk)" "what the disk holds"
wait_for $limit "a try of it" says_on_console "muster: root a is as its digest says"

step "it falls back by itself, and its rollout has failed"
wait_for $((3 * limit)) "the image before it" is_connected_after "$before"
expect_equal b "$(slot)" "the root"
expect_equal "$uuid" "$(on_node cat /var/lib/muster/node.uuid </dev/null)" "the node"
wait_for 60 "the fallback to be told" has_event boot.fallen_back
expect_equal disk "$(muster -o json boot show d001 | read_json 'print(value["nodes"][0]["last"]["what"])')" \
  "what it boots, the failed one not being written again"
muster boot show d001
# It was the only node: nothing is left to pause. image_rollout_test.sh has the others, and the way back.
await_rollout 120 completed
expect_contains "$(of_rollout message)" "1 node failed" "the rollout"
expect_contains "$(muster rollout show "$rollout")" "the node runs $second from its disk, and is to run $third" "why"
