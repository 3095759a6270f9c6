#!/bin/bash
# Machines by their BMCs, which speak IPMI to the controller and pull the plugs of the lab's nodes:
# refused under a job, off and on again with what the machine writes to its console, a wrong password, what a
# BMC says of a power supply, and a node that hangs at a reboot, which is power cycled once and finishes its plan.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

work=$(mktemp -d)
clean() { rm -rf "$work"; }

boot_of() { lab exec "$1" cat /proc/sys/kernel/random/boot_id; }  # NODE
is_off() { says -E "^  $1 .* off " ./dev lab status --name "$LAB_TEST_NAME"; }  # NODE
connected() { [[ $(muster -o json node show "$1" | read_json 'print(value["node"]["connected"])') == True ]]; }
is_gone() { ! connected "$1"; }
power_is() {  # NODE STATE
  [[ $(muster -o json power status "$1" | read_json 'print(value["nodes"][0]["state"])') == "$2" ]]
}

# What somebody says to the simulator of a BMC.
tell_bmc() {  # ADDRESS COMMAND
  # shellcheck disable=SC2016  # the other shell expands it
  nsenter --net="/run/netns/muster-$LAB_TEST_NAME" -- \
    bash -c 'exec 3<>"/dev/tcp/$0/9001"; echo "$1" >&3; timeout 1 cat <&3 >/dev/null || true' "$1" "$2"
}

start_cluster 2 bookworm --prepared --bmcs
cp -r "$(lab_folder)/inventory" "$work/inventory"
sed -i 's/bmc_protocol: ipmi,/& bmc_cycle_after: 2m, base_packages: [ca-certificates, curl, freeipmi-tools],/' \
  "$work/inventory/cluster.yaml"
address=$(<"$(lab_folder)/bmcs/c001/address")
muster inventory apply "$work/inventory" >/dev/null
lab muster secret set bmc_password --roles power <<<"of-the-bmc" >/dev/null
join 'login1,c[001-002]'
apply playbooks/site.yaml
expect_applied 0 "rollout"
wait_for 60 "all nodes idle" nodes_idle c001 c002

step "who may not, and under a job"
power_is c001 on || fail "c001 is not on: $(muster power status 'c[001-002]')"
job=$(lab exec login1 sbatch --parsable -w c001 --mem=16 -o /dev/null --wrap "sleep 600")
wait_for 30 "job $job" says -F JobState=RUNNING lab exec login1 scontrol show job "$job"
RC=0
show muster power off c001 --yes || RC=$?
expect_equal 3 "$RC" "exit code under a job"
expect_contains "$SAID" "job $job" "the refusal"
power_is c001 on || fail "c001 is not on any more"
lab exec login1 scancel "$job"
wait_for 30 "the end of job $job" nodes_idle c001 c002
lab muster secret set bmc_password --roles power <<<"not-the-bmcs" >/dev/null
RC=0
show muster power status c002 || RC=$?
expect_equal 3 "$RC" "exit code with a wrong password"
expect_contains "$SAID" "muster secret set" "the remedy"
lab muster secret set bmc_password --roles power <<<"of-the-bmc" >/dev/null

step "off and on again"
boot=$(boot_of c001)
lab exec c001 sh -s <<'NODE'
cat >/etc/systemd/system/console.service <<'UNIT'
[Service]
ExecStart=/bin/sh -c 'exec journalctl -b -f -n all -o cat >>/console'
[Install]
WantedBy=sysinit.target
UNIT
systemctl enable --quiet console.service
NODE
lab exec login1 scontrol update NodeName=c001 State=DRAIN Reason="new riser"
show muster power off c001 --yes --reason "new riser" || fail "off"
wait_for 20 "c001 is off" is_off c001
power_is c001 off || fail "the BMC of c001 does not say that it is off"
wait_for 30 "c001 is gone" is_gone c001
connected c002 || fail "c002 is gone, too"
show muster power on c001 || fail "on"
wait_for 120 "c001 is back" connected c001
[[ $(boot_of c001) != "$boot" ]] || fail "c001 is in the same boot"
# A container may be up before its console is open; and ipmi_sim may lose what came first, and then sends nothing
# until the console is opened anew, after a minute.
follow() { lab exec login1 timeout --preserve-status -s INT "$1" muster power console c001 --follow --lines 5 2>&1; }  # SECONDS
is_on_console() { lab exec c001 logger "c001 is up"; says -F "  c001 is up" follow 3; }
wait_for 200 "the console of c001" is_on_console
RC=0
show follow 15 || RC=$?
expect_equal 0 "$RC" "exit code of --follow"
expect_contains "$SAID" "the console of c001 is being read" "what --follow says"
# Slurm takes a node down once more when its slurmd comes back from a boot that Slurm did not want.
back_in_slurm() {
  lab exec login1 scontrol update NodeName=c001 State=RESUME || true
  nodes_idle c001 c002
}
wait_for 60 "all nodes idle" back_in_slurm
expect_equal "$(printf 'power.start c001 power.end c001 %.0s' 1 2 3)" "$(muster -o json audit list --limit 200 | read_json '
print(*(e["action"] + " " + e["subject"] for e in reversed(value["events"]) if e["action"].startswith("power.")), "")')" "the record"

step "a power supply fails"
# In place of the kernel's driver, which a container has not.
lab exec c001 sh -s "$address" <<'NODE'
cat >/etc/freeipmi/freeipmi.conf <<CONFIGURATION
driver-type LAN_2_0
username muster
password of-the-bmc
cipher-suite-id 3
privilege-level ADMIN
workaround-flags opensesspriv
CONFIGURATION
for program in ipmi-sensors ipmi-sel; do
  printf '#!/bin/sh\nexec /usr/sbin/%s --hostname=%s "$@"\n' "$program" "$1" >"/usr/local/sbin/$program"
  chmod 755 "/usr/local/sbin/$program"
done
NODE
health_says() { says -F "$1" health_of c001; }  # WORDS
has_looked() { lab exec c001 sh -c 'test -s /var/lib/muster/.freeipmi/sdr-cache/*'; }
look_again() { lab exec c001 systemctl restart muster-agent; }
look_again
wait_for 60 "a look at the BMC" has_looked
sleep 2
! health_says bmc_ || fail "a BMC that is well: $(muster health c001)"
tell_bmc "$address" "sensor_set_bit 0x20 0 1 1 1 1"
look_again
wait_for 60 "the sensor" health_says "PSU1 (Power Supply): 'Presence detected' 'Power Supply Failure detected'"
wait_for 10 "the log" health_says "critical events within a day: 1; the last: PSU1 (Power Supply): Power Supply Failure detected"

step "a node that hangs at its reboot is power cycled once, and its plan goes on"
boot=$(boot_of c002)
lab exec c002 sh -s <<'NODE'
cat >/etc/systemd/system/hang.service <<'UNIT'
[Unit]
Before=muster-agent.service
[Service]
Type=oneshot
TimeoutStartSec=infinity
ExecStart=/bin/sh -c 'if [ -e /var/hang ]; then rm /var/hang; exec sleep infinity; fi'
[Install]
WantedBy=multi-user.target
UNIT
systemctl enable --quiet hang.service
touch /var/hang /run/reboot-required
NODE
# Without the gate nobody else keeps jobs away from it meanwhile.
lab exec login1 scontrol update NodeName=c002 State=DRAIN Reason="new kernel"
apply tests/testdata/lab/reboot/reboot.yaml --limit c002
expect_applied 0 "a plan whose reboot hangs"
[[ $(boot_of c002) != "$boot" ]] || fail "c002 is in the same boot"
lab exec c002 test ! -e /var/hang || fail "c002 did not hang"
lab exec c002 test -e /var/tmp/after || fail "the plan did not go on"
expect_equal "power 0 power 1" "$(xargs <"$(lab_folder)/bmcs/c002/orders")" "orders to the BMC of c002"
expect_contains "$(muster audit list --limit 50)" "not back from its reboot" "the record"
echo PASSED
