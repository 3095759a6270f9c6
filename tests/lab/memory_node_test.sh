#!/bin/bash
# A worker whose root is in memory, and which has a TPM: it asks to join with nothing that was given to it, is
# approved once, applied and tested, and does a job. Then it is switched off and comes back with the root of its
# image: as the same node, without anybody, with what was applied to it, tested, and with its holds. The same root on
# a machine with another TPM is not the node. The TPM is swtpm's, which keeps its state as a chip does.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

work=$(mktemp -d)
clean() { rm -rf "$work"; }
on() { lab exec "$@" </dev/null; }  # NODE CMD…
node_json() { muster -o json node list c001 | read_json 'print(value["nodes"][0].get(sys.argv[1], ""))' "$1"; }  # FIELD
is_waiting() { [[ -n $(node_json enrollment_fingerprint) ]]; }
is_connected() { [[ $(node_json connected) == True ]]; }
has_joined() { is_connected && [[ $(node_json uuid) == "$1" ]]; }  # UUID
said_by_join() { on c001 journalctl -b -q -o cat -u muster-join; }

mkdir -p "$work/site/playbooks"
cp -r playbooks "$work/site/"
shorten_acceptance "$work/site"
GATE=on start_cluster 1
readonly upper=$(lab_folder)/nodes/c001/upper image=$work/image tpm=$work/tpm

step "the image of c001, and its TPM"
install() {  # NODE PACKAGE…
  lab exec "$1" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends "$@"' sh "${@:2}" >/dev/null 2>&1 </dev/null ||
    fail "$1: not installed: ${*:2}"
}
lab exec c001 sh -c 'cat >/tmp/agent.deb' <build/release/packages/muster-agent_*.deb
install login1 tpm2-tools
install c001 tpm2-tools swtpm /tmp/agent.deb
read -r enrollment controller pin < <(muster -o json token create --nodes login1 | read_json '
print(value["enrollment_address"], value["controller_address"], value["ca_pin"])')
tar -C images/join -c etc | lab exec c001 tar -C / --no-same-owner -x
# A container has the kernel's command line and the devices of its host.
lab exec c001 sh -c 'cat >/etc/cmdline' <<<"quiet muster.join=c001,$enrollment,$controller,$pin"
lab exec c001 sh -c 'mkdir /etc/systemd/system/muster-join.service.d &&
  cat >/etc/systemd/system/muster-join.service.d/container.conf' <<'UNIT'
[Unit]
ConditionKernelCommandLine=
After=tpm.service
[Service]
BindReadOnlyPaths=/etc/cmdline:/proc/cmdline
ExecStart=
ExecStart=/usr/bin/muster-agent join-boot --tpm swtpm:path=/run/tpm
RestartSec=7s
UNIT
lab exec c001 sh -c 'cat >/etc/systemd/system/tpm.service' <<'UNIT'
[Service]
ExecStart=/usr/bin/swtpm socket --tpm2 --tpmstate dir=/tpm --server type=unixio,path=/run/tpm \
  --ctrl type=unixio,path=/run/tpm.ctrl --flags not-need-init,startup-clear
[Install]
WantedBy=multi-user.target
UNIT
on c001 sh -c 'mkdir /tpm && systemctl enable --quiet tpm'
lab power c001 off >/dev/null
cp -a "$upper" "$image"
[[ ! -e $image/etc/munge/munge.key && ! -e $image/var/lib/muster/client.crt ]] || fail "the image has keys"
mkdir "$tpm"
boot() {  # with the root of the image and the state of the TPM
  lab power c001 off >/dev/null
  [[ ! -d $upper/tpm ]] || cp -a "$upper/tpm/." "$tpm"
  rm -rf "$upper"
  cp -a "$image" "$upper"
  cp -a "$tpm/." "$upper/tpm"
  lab power c001 on >/dev/null
}

step "nobody joins where the inventory does not say so"
mkdir "$work/inventory"
cp "$(lab_folder)"/inventory/* "$work/inventory/"
sed -i '/^  c001:/s/}/, mac: "52:54:00:99:00:01"}/' "$work"/inventory/*.yaml
join login1
boot
says_refused() { says -F "may not join as c001 by itself" said_by_join; }
wait_for 60 "the refusal" says_refused

step "it asks, and is approved by its key"
echo 'vars: {boot_join: tpm}' >"$work/inventory/join.yaml"
muster inventory apply "$work/inventory" >/dev/null
wait_for 60 "c001 among those that wait" is_waiting
key=$(said_by_join | sed -n 's/.*the key of this machine: //p' | tail -1)
expect_equal "$key" "$(node_json enrollment_fingerprint)" "the key on its console"
endorsement=$(node_json enrollment_endorsement_key)
[[ $endorsement =~ ^[0-9a-f]{64}$ ]] || fail "its TPM is '$endorsement'"
muster node approve c001 --key "$key"
wait_for 60 "c001 connected" is_connected
uuid=$(node_json uuid)
expect_equal "$endorsement" "$(node_json endorsement_key)" "its TPM"

step "applied and tested"
apply_and_validate "$work/site/playbooks/site.yaml"
expect_applied 0 "rollout"
wait_for 60 "c001 idle" nodes_idle c001
expect_equal c001 "$(on login1 srun --immediate=30 -w c001 hostname)" "a job"

step "after a boot it is the same node, and nobody was asked"
muster node drain c001 --reason "by a person" >/dev/null
runs=$(muster -o json run list | read_json 'print(len(value["runs"]))')
boot
wait_for 90 "c001 connected" has_joined "$uuid"
expect_contains "$(muster audit list)" "TPM $endorsement" "the audit log"
catches_up() {
  muster -o json run list | read_json '
newest = value["runs"][0]
assert len(value["runs"]) == int(sys.argv[1]) + 1 and newest["state"] == "succeeded", newest' "$runs"
}
wait_for 180 "what was applied to it" catches_up
[[ -s $upper/etc/munge/munge.key ]] || fail "munge's key is not back"
# After the test that follows.
wait_for 60 "another pass" says -E "^state +in service" muster node show c001
wait_for 30 "the person's drain" is_drained_for c001 "by a person"

step "and serves again once it has passed"
muster node resume c001 >/dev/null
wait_for 120 "c001 idle" nodes_idle c001
expect_equal c001 "$(on login1 srun --immediate=30 -w c001 hostname)" "a job after the boot"
expect_equal "$uuid" "$(node_json uuid)" "the node"

step "another TPM is not the node"
lab power c001 off >/dev/null
rm -rf "$upper/tpm" "$tpm"
mkdir -p "$upper/tpm" "$tpm"
boot
wait_for 60 "a machine that waits" is_waiting
[[ $(node_json enrollment_endorsement_key) != "$endorsement" ]] || fail "the TPM is the same"
expect_equal "$uuid" "$(node_json uuid)" "the node"
cat >"$work/inventory/join.yaml" <<YAML
vars: {boot_join: tpm, boot_tpm: $endorsement}
YAML
muster inventory apply "$work/inventory" >/dev/null
on c001 systemctl restart --no-block muster-join
wait_for 60 "the refusal" says_refused

step "without a TPM, in a network that is trusted, the node of a TPM waits"
mac=$(on c001 cat /sys/class/net/host0/address)
lab power c001 off >/dev/null
sed -i 's/ --tpm .*//' "$image/etc/systemd/system/muster-join.service.d/container.conf"
rm "$image/etc/systemd/system/multi-user.target.wants/tpm.service"
address=$(awk '$2 == "login1" {print $1}' "$(lab_folder)/hosts")
on login1 sed -i "s/^boot_listen: .*/boot_listen: $address:7483/" /etc/muster/controller.yaml
on login1 systemctl restart musterd
wait_for 30 "musterd" muster status
sed -i "s/52:54:00:99:00:01/$mac/" "$work"/inventory/*.yaml
cat >"$work/inventory/join.yaml" <<YAML
vars: {boot_join: approve, boot_trusted_networks: [${address%.*}.0/24]}
YAML
muster inventory apply "$work/inventory" >/dev/null
expect_contains "$(muster status)" "${address%.*}.0/24: machines join from there by their MAC address" "the status"
boot_from_network() {  # as its loader asks
  ip netns exec "muster-$LAB_TEST_NAME" curl -sSf "http://$address:7483/boot.ipxe?mac=$mac" >/dev/null
  boot
}
boot_from_network
says_why() { says -F "the node has joined by a TPM" muster audit list; }
wait_for 60 "the reason why it waits" says_why
[[ $(node_json connected) != True ]] || fail "it has joined"

step "once that node is gone, the MAC address is enough, after each boot"
muster node remove c001 --membership-only --yes >/dev/null
has_joined_by_mac() { [[ $(muster audit list | grep -c "has the MAC address $mac; token") == "$1" ]] && is_connected; }  # TIMES
is_gone() { ! is_connected; }
boot_from_network
wait_for 60 "c001 joined by its MAC address" has_joined_by_mac 1
uuid=$(node_json uuid)
lab power c001 off >/dev/null
wait_for 60 "c001 gone" is_gone
boot_from_network
wait_for 60 "c001 joined again" has_joined_by_mac 2
expect_equal "$uuid" "$(node_json uuid)" "the node"

step "a user of that node, who has its MAC address, waits while its agent is away"
on c001 systemctl stop muster-agent
wait_for 60 "c001 gone" is_gone
on c001 systemd-run --quiet --unit=forger -p User=nobody -p StateDirectory=forger \
  -p BindReadOnlyPaths=/etc/cmdline:/proc/cmdline muster-agent --state-dir /var/lib/forger join-boot
wait_for 60 "the user's machine among those that wait" is_waiting
forged=$(node_json enrollment_fingerprint)
expect_equal "$forged" "$(on c001 journalctl -q -o cat -u forger | sed -n 's/.*the key of this machine: //p')" "the key"
expect_equal "$uuid" "$(node_json uuid)" "the node"

step "another MAC address waits"
is_waiting_too() { is_waiting && [[ $(node_json enrollment_fingerprint) != "$forged" ]]; }
sed -i "s/$mac/52:54:00:99:00:01/" "$work"/inventory/*.yaml
muster inventory apply "$work/inventory" >/dev/null
mac=52:54:00:99:00:01
boot_from_network
wait_for 60 "another machine that waits" is_waiting_too
echo PASSED
