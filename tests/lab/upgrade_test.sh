#!/bin/bash
# One command exchanges the controller for the next version, and its playbook then brings the agents to it:
# no job notices. A controller or an agent that does not come up is taken back by itself, with the
# controller's store, and fails the run; an exchange that is cut off continues.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly programs=build/release/tests nodes=(login1 c001 c002) offered=/usr/share/muster/packages
work=$(mktemp -d)
clean() { rm -rf "$work"; }
before=$(build/release/bin/muster-agent version | awk '{print $2}')
next=$("$programs/muster-agent-next" version | awk '{print $2}')
architecture=$(dpkg --print-architecture)
agent_deb=muster-agent_${next}_$architecture.deb
controller_deb=muster-controller_${next}_$architecture.deb

# repack COMPONENT OUTPUT PATH FILE…: a package of this build in the next version, with other files in it.
repack() {
  local component=$1 output=$2 folder=$work/package
  shift 2
  rm -rf "$folder"
  dpkg-deb -R build/release/packages/muster-"$component"_"$before"_*.deb "$folder"
  while (($#)); do
    install -D -m 755 "$2" "$folder/$1"
    shift 2
  done
  if [[ $component == controller ]]; then rm -f "$folder$offered/muster-agent_${before}_"*; fi
  sed -i "s/^Version: .*/Version: $next/" "$folder/DEBIAN/control"
  dpkg-deb -Zgzip -z1 --root-owner-group -b "$folder" "$work/$output" >/dev/null
}
# The package of the next agent with PROGRAM in it, where the controller offers it.
offer_agent() {  # PROGRAM
  repack agent "$agent_deb" usr/bin/muster-agent "$1"
  lab exec login1 install -m 644 /dev/stdin "$offered/$agent_deb" <"$work/$agent_deb"
}
# controller_update PROGRAM: the command, for the next controller with PROGRAM in it; its output in
# UPDATE_OUTPUT, its exit code in UPDATE_CODE.
controller_update() {
  repack controller "$controller_deb" usr/bin/musterd "$1" "usr/share/muster/packages/$agent_deb" "$work/$agent_deb"
  UPDATE_CODE=0
  UPDATE_OUTPUT=$(muster controller update "$work" --yes 2>&1) || UPDATE_CODE=$?
  echo "$UPDATE_OUTPUT" | tail -n 20
}
# Ends the exchange in UNIT of NODE by -9 as soon as it runs.
kill_exchange() {  # NODE UNIT
  for _ in $(seq 300); do
    lab exec "$1" systemctl kill -s KILL "$2" 2>/dev/null && return
    sleep 0.1
  done
  return 1
}
agent_of() {  # NODE: its version, as the controller knows it; "" while it is away
  muster -o json node show "$1" | read_json 'print(value["node"]["agent_version"] if value["node"].get("connected") else "")'
}
has_agent() { [[ $(agent_of "$1") == "$2" ]]; }  # NODE VERSION
controller_version() { lab exec login1 musterd --version | awk '{print $2}'; }

start_cluster 2 bookworm --prepared
join 'login1,c[001-002]'
apply playbooks/site.yaml
expect_applied 0 "rollout"
job=$(lab exec login1 sbatch --parsable -w c002 -o /var/tmp/job.out --wrap 'for i in $(seq 90); do echo line $i; sleep 1; done')
slurmd=$(lab exec c001 systemctl show -P MainPID slurmd)

step "a controller that does not start is taken back, with its store"
printf '#!/bin/sh\nexit 1\n' >"$work/broken"
# What it does to the store, it does before it ends.
printf '#!/bin/sh\necho damage >>/var/lib/muster-controller/muster.db\nexit 1\n' >"$work/damaging"
repack agent "$agent_deb" usr/bin/muster-agent "$programs/muster-agent-next"
runs=$(muster -o json run list | read_json 'print(len(value["runs"]))')
controller_update "$work/damaging"
expect_equal 3 "$UPDATE_CODE" "exit code of an update that is taken back"
expect_contains "$UPDATE_OUTPUT" "musterd $next did not come up, the one of before is back with its store" "what the command says"
expect_equal "$before" "$(controller_version)" "the program on login1"
expect_contains "$(muster status)" "musterd $before" "the controller's version"
expect_equal $((runs + 1)) "$(muster -o json run list | read_json 'print(len(value["runs"]))')" "runs in the store"
expect_contains "$(muster audit list)" controller.update_failed "audit log"
muster audit verify || fail "the store was damaged"
! lab exec login1 test -e /var/lib/muster-controller/probation || fail "the probation stays"
lab exec login1 test -e "$offered/muster-agent_${before}_$architecture.deb" || fail "the agent's package of before is gone"
! lab exec login1 test -e "$offered/$agent_deb" || fail "the next agent's package stays"

step "the next one takes its place, with an exchange that is killed, and its agents stay what they are"
kill_exchange login1 muster-controller-upgrade.service &
killer=$!
controller_update "$programs/musterd-next"
wait "$killer" || fail "the exchange was not killed"
expect_equal 0 "$UPDATE_CODE" "exit code of the update"
expect_contains "$UPDATE_OUTPUT" "musterd $next runs." "what the command says"
expect_equal "$next" "$(lab exec login1 dpkg-query -W -f '${Version}' muster-controller)" "package of musterd"
expect_contains "$(muster status)" "musterd $next" "the controller's version"
expect_contains "$(muster audit list)" "controller.update " "audit log"
for node in "${nodes[@]}"; do wait_for 60 "$node with the new controller" has_agent "$node" "$before"; done
controller_update "$programs/musterd-next"
expect_equal 0 "$UPDATE_CODE" "exit code where nothing is to do"

step "an agent that does not start is taken back"
offer_agent "$work/broken"
apply playbooks/site.yaml --limit c001
expect_applied 3 "an agent that does not start"
expect_contains "$APPLY_OUTPUT" "agent $next did not come up, $before is back in its place" "what the run says"
wait_for 30 "c001 with its agent of before" has_agent c001 "$before"
expect_equal "muster-agent $before" "$(lab exec c001 muster-agent version)" "the program on c001"
! lab exec c001 test -e /var/lib/muster/upgrade/order || fail "the order stays"
has_agent c002 "$before" || fail "c002 was touched"

step "a good one takes its place everywhere, with an exchange that is killed"
offer_agent "$programs/muster-agent-next"
kill_exchange c001 muster-agent-upgrade.service &
killer=$!
apply playbooks/site.yaml
expect_applied 0 "the upgrade of the agents"
wait "$killer" || fail "the exchange was not killed"
for node in "${nodes[@]}"; do
  has_agent "$node" "$next" || fail "$node has agent '$(agent_of "$node")'"
  expect_equal "$next" "$(lab exec "$node" dpkg-query -W -f '${Version}' muster-agent)" "package of $node"
  expect_equal 1 "$(grep -c "^$node: changed base: agent of the controller's version$" <<<"$APPLY_OUTPUT")" "changes of $node"
  wait_for 20 "the end of the exchange on $node" lab exec "$node" test ! -e /var/lib/muster/upgrade/order
done
expect_equal "$slurmd" "$(lab exec c001 systemctl show -P MainPID slurmd)" "slurmd on c001"
apply playbooks/site.yaml --detailed-exitcode
expect_applied 0 "nothing is left to do"
job_has_ended() { [[ -z $(lab exec login1 squeue -h -j "$job" 2>/dev/null) ]]; }
wait_for 90 "the end of the job" job_has_ended
expect_equal "line 90" "$(lab exec c002 tail -n 1 /var/tmp/job.out)" "the job's whole output"
echo PASSED
