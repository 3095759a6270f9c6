#!/bin/bash
# A controller of the next version works with agents of before, and its playbook brings them to its own
# version: no job notices; an agent that does not come up is taken back by itself and fails the run; an
# exchange that is cut off continues.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly programs=build/release/tests nodes=(login1 c001 c002)
work=$(mktemp -d)
clean() { rm -rf "$work"; }
before=$(build/release/bin/muster-agent version | awk '{print $2}')
next=$("$programs/muster-agent-next" version | awk '{print $2}')

# The agent's package with another version and program, where the controller offers it.
offer_package() {  # PROGRAM
  local folder=$work/package deb
  rm -rf "$folder"
  dpkg-deb -R build/release/packages/muster-agent_"$before"_*.deb "$folder"
  install -m 755 "$1" "$folder/usr/bin/muster-agent"
  sed -i "s/^Version: .*/Version: $next/" "$folder/DEBIAN/control"
  deb=muster-agent_${next}_$(dpkg --print-architecture).deb
  dpkg-deb -Zgzip -z1 --root-owner-group -b "$folder" "$work/$deb" >/dev/null
  lab exec login1 install -m 644 /dev/stdin "/usr/share/muster/packages/$deb" <"$work/$deb"
}
agent_of() {  # NODE: its version, as the controller knows it; "" while it is away
  muster -o json node show "$1" | read_json 'print(value["node"]["agent_version"] if value["node"].get("connected") else "")'
}
has_agent() { [[ $(agent_of "$1") == "$2" ]]; }  # NODE VERSION

start_cluster 2 bookworm --prepared
join 'login1,c[001-002]'
apply playbooks/site.yaml
expect_applied 0 "rollout"

step "the controller is upgraded, and its agents stay what they are"
printf '#!/bin/sh\nexit 1\n' >"$work/broken"
offer_package "$work/broken"
lab exec login1 install -m 755 /dev/stdin /usr/bin/musterd <"$programs/musterd-next"
lab exec login1 systemctl restart musterd
for node in "${nodes[@]}"; do wait_for 60 "$node with the new controller" has_agent "$node" "$before"; done
expect_contains "$(muster status)" "musterd $next" "the controller's version"
job=$(lab exec login1 sbatch --parsable -w c002 -o /var/tmp/job.out --wrap 'for i in $(seq 60); do echo line $i; sleep 1; done')
slurmd=$(lab exec c001 systemctl show -P MainPID slurmd)

step "an agent that does not start is taken back"
apply playbooks/site.yaml --limit c001
expect_applied 3 "an agent that does not start"
expect_contains "$APPLY_OUTPUT" "agent $next did not come up, $before is back in its place" "what the run says"
wait_for 30 "c001 with its agent of before" has_agent c001 "$before"
expect_equal "muster-agent $before" "$(lab exec c001 muster-agent version)" "the program on c001"
! lab exec c001 test -e /var/lib/muster/upgrade/order || fail "the order stays"
has_agent c002 "$before" || fail "c002 was touched"

step "a good one takes its place everywhere, with an exchange that is killed"
offer_package "$programs/muster-agent-next"
(
  for _ in $(seq 300); do
    lab exec c001 systemctl kill -s KILL muster-agent-upgrade.service 2>/dev/null && break
    sleep 0.1
  done
) &
killer=$!
apply playbooks/site.yaml
expect_applied 0 "the upgrade of the agents"
wait "$killer"
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
expect_equal "line 60" "$(lab exec c002 tail -n 1 /var/tmp/job.out)" "the job's whole output"
echo PASSED
