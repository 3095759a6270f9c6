#!/bin/bash
# A rollout of an image for disks, as far as it needs no disk: a node says by its kernel's command line which build it
# runs, and comes back from the rollout's reboot with the one that its boot loader found good. The new build comes up
# on the canary; of the next one it comes back without, as one that has panicked does, and the rollout stops there.
# image_disk.sh has the loader and the disk on an emulated machine.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

work=$(mktemp -d)
clean() { rm -rf "$work"; }
on() { lab exec "$@" </dev/null; }  # NODE CMD…
# An image whose root is a few bytes; NAME@ and 12 digits in BUILD.
keep_image() {  # CONTENT
  mkdir -p "$work/image"
  python3 - "$work/image" "$1" <<'PY'
import hashlib, json, pathlib, sys
folder, content = pathlib.Path(sys.argv[1]), sys.argv[2]
artifacts = []
for name in ("files", "initrd", "kernel", "root.squashfs"):
    data = f"{name} of {content}\n".encode()
    (folder / name).write_bytes(data)
    artifacts.append({"name": name, "sha256": hashlib.sha256(data).hexdigest(), "size_bytes": str(len(data))})
(folder / "manifest.json").write_text(json.dumps({
    "name": "worker", "kind": "disk", "distribution": "debian12", "architecture": "amd64",
    "disk": {"device": "blank", "esp_mib": 512, "root_mib": 1024, "state_mib": 1024}, "artifacts": artifacts}))
PY
  muster image import "$work/image" >/dev/null
  BUILD=$(muster -o json image show worker | read_json 'print("worker@" + value["digest"][:12])')
}
# What the boot loader of NODE will find good at its next boot.
finds_good() { lab exec "$1" sh -c 'cat >/etc/next_cmdline' <<<"quiet muster.slot=a muster.image=$2"; }  # NODE BUILD
runs() { on "$1" sed 's/.*muster.image=//' /etc/cmdline; }  # NODE
move_to() {  # BUILD ARGS…: by the inventory and a rollout, whose id is in rollout afterwards
  sed -i "s/^  boot: .*/  boot: $1/" "$work/inventory/boot.yaml"
  muster inventory apply "$work/inventory" >/dev/null
  show muster update "$work/site/playbooks/image.yaml" --yes --detach "${@:2}"
  rollout=$(muster -o json rollout list | read_json 'print(value["rollouts"][0]["rollout_id"])')
}
of_rollout() { muster -o json rollout show "$rollout" | read_json 'print(value.get(sys.argv[1], ""))' "$1"; }  # FIELD
await_rollout() {  # SECONDS STATE
  local end=$((SECONDS + $1))
  until [[ $(of_rollout state) == "$2" ]]; do
    ((SECONDS < end)) || { muster rollout show "$rollout"; muster run list; fail "the rollout: $2: not in time"; }
    sleep 0.5
  done
}
ordered() { muster -o json boot show "$1" | read_json 'print(value["nodes"][0]["next"])'; }  # NODE

GATE=on start_cluster 2 bookworm --prepared
mkdir "$work/inventory" "$work/site"
cp "$(lab_folder)"/inventory/* "$work/inventory/"
cp -r playbooks "$work/site/"
cat >"$work/site/playbooks/image.yaml" <<'YAML'
- play: images on disks
  hosts: compute
  roles:
    - {role: disk_image, when: disk_image != ""}
YAML
address=$(awk '$2 == "login1" {print $1}' "$(lab_folder)/hosts")
on login1 sed -i "s/^boot_listen: .*/boot_listen: $address:7483/" /etc/muster/controller.yaml
on login1 systemctl restart musterd
wait_for 30 "musterd" muster status
keep_image first
first=$BUILD
sed -i '/^  c001:/s/}/, mac: "52:54:00:99:00:01"}/; /^  c002:/s/}/, mac: "52:54:00:99:00:02"}/' "$work/inventory"/*.yaml
cat >"$work/inventory/boot.yaml" <<YAML
vars:
  boot: $first
YAML
muster inventory apply "$work/inventory" >/dev/null

step "two nodes that run the first build"
ask() { ip netns exec "muster-$LAB_TEST_NAME" curl -sSf "$1"; }  # URL
for number in 1 2; do  # as its initramfs and `muster-agent disk install` do
  script=$(ask "http://$address:7483/boot.ipxe?mac=52:54:00:99:00:0$number")
  ask "$(grep -o 'muster.report=[^ ]*' <<<"$script" | cut -d= -f2-)?phase=written"
  expect_equal "$first" "$(muster -o json boot show c00$number | read_json 'print(value["nodes"][0]["disk"])')" "its disk"
done
# A container has its host's command line: the agent gets one of its own, which follows the loader's at each boot.
for node in c001 c002; do
  finds_good "$node" "$first"
  lab exec "$node" sh -c 'cat >/etc/systemd/system/loader.service && cp /etc/next_cmdline /etc/cmdline &&
    mkdir -p /etc/systemd/system/muster-agent.service.d' <<'UNIT'
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/cp /etc/next_cmdline /etc/cmdline
[Install]
WantedBy=multi-user.target
UNIT
  lab exec "$node" sh -c 'cat >/etc/systemd/system/muster-agent.service.d/cmdline.conf &&
    systemctl enable --quiet loader' <<'UNIT'
[Unit]
Requires=loader.service
After=loader.service
[Service]
BindReadOnlyPaths=/etc/cmdline:/proc/cmdline
UNIT
done
join 'login1,c[001-002]'
apply playbooks/site.yaml
expect_applied 0 "rollout of the site"
show muster update "$work/site/playbooks/image.yaml" --yes
expect_equal "$first $first" "$(runs c001) $(runs c002)" "what they run after an update without another image"

step "another build comes up"
keep_image second
second=$BUILD
for node in c001 c002; do finds_good "$node" "$second"; done
before=$(on c001 cat /proc/sys/kernel/random/boot_id)
move_to "$second" --soak 1s
await_rollout 180 completed
expect_equal "$second $second" "$(runs c001) $(runs c002)" "what they run"
[[ $(on c001 cat /proc/sys/kernel/random/boot_id) != "$before" ]] || fail "c001 was not rebooted"
for node in c001 c002; do expect_equal "$second" "$(ordered "$node")" "what $node was ordered to boot"; done

step "one that does not: the rollout stops at its canary"
keep_image third
third=$BUILD
second_boot=$(on c002 cat /proc/sys/kernel/random/boot_id)
move_to "$third" --soak 1s
await_rollout 180 paused
expect_contains "$(muster rollout show "$rollout")" "the node runs $second from its disk, and is to run $third" "why"
canary=$(muster -o json rollout show "$rollout" | read_json '
[failed] = [node["node"] for node in value["nodes"] if node.get("step") == "failed"]
print(failed)')
expect_equal "$third" "$(ordered "$canary")" "what the canary was ordered to boot"
[[ $canary == c001 ]] || fail "the canary is $canary"
expect_equal "$second_boot" "$(on c002 cat /proc/sys/kernel/random/boot_id)" "the boot of c002, which had no turn"

step "taken back"
show muster rollout rollback "$rollout"
await_rollout 180 rolled_back
expect_contains "$(of_rollout message)" "names another image for c[001-002]" "what is left to do"
expect_equal "$second $second" "$(runs c001) $(runs c002)" "what they run"
echo PASSED
