#!/bin/bash
# A machine with a TPM and without a disk is only switched on, by its BMC: it boots the image that the inventory names,
# asks to join, and its key is approved, once. It is applied and tested, and does a job. Switched off and on again it
# is the same node, nobody is asked, and it serves again once it has passed, although Slurm has taken it down for its
# boot. `./dev nightly boot` runs it: without hardware support a boot takes minutes. memory_node_test.sh has what a
# node does then, on containers, whose uptime is their host's.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/image_user.sh
source "$(dirname "$0")/image_user.sh"
# shellcheck source=tests/lab/image_machine.sh
source "$(dirname "$0")/image_machine.sh"

is_gone() { [[ $(node_json connected) != True ]]; }

GATE=on start_boot_server
shorten_acceptance "$site"
lab exec login1 sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
  apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends tpm2-tools' >/dev/null 2>&1 </dev/null ||
  fail "no tpm2-tools on login1"
lab machine d001 disk=no
small_image stateless debian-worker

step "the build"
build stateless
expect_equal 0 "$RC" "exit code"
sed -i 's/^vars:/&\n  boot: stateless\n  boot_join: tpm\n  container_runtimes: []/' "$inventory"
muster inventory apply "$work/inventory" >/dev/null

step "the machine is switched on by its BMC, and nothing else"
muster power on d001
wait_for $limit "the root" has_step switched
wait_for $limit "a machine that waits" is_waiting
key=$(node_json enrollment_fingerprint)
endorsement=$(node_json enrollment_endorsement_key)
[[ -n $endorsement ]] || fail "it has not proved a TPM"
wait_for 30 "the key on its console" says_on_console "the key of this machine: $key"
muster node approve d001 --key "$key"
wait_for 120 "its agent" is_connected
uuid=$(node_json uuid)
expect_equal "$endorsement" "$(node_json endorsement_key)" "its TPM"

step "applied and tested, it does a job"
apply_and_validate "$site/playbooks/site.yaml"
expect_applied 0 "rollout"
wait_for 120 "d001 idle" nodes_idle d001
expect_equal d001 "$(lab exec login1 srun --immediate=60 -w d001 hostname)" "a job"

step "after a power cut it is the same node, and nobody was asked"
power_off
wait_for 60 "its absence" is_gone
muster power on d001
wait_for $((2 * limit)) "its agent" is_connected
expect_equal "$uuid" "$(node_json uuid)" "the node"
expect_equal "" "$(node_json enrollment_fingerprint)" "a machine that waits"
expect_contains "$(muster audit list)" "TPM $endorsement" "the audit log"

step "it serves again once it has passed"
slurm_has_noticed() { lab exec login1 grep -q "unexpectedly rebooted" /var/log/slurm/slurmctld.log; }
wait_for $limit "what Slurm makes of the boot" slurm_has_noticed
wait_for $limit "d001 idle" nodes_idle d001
expect_equal d001 "$(lab exec login1 srun --immediate=60 -w d001 hostname)" "a job after the boot"
echo PASSED
