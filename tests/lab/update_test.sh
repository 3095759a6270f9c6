#!/bin/bash
# Rolling updates of workers with jobs: one node at a time is out, each reboots and passes its suite
# before it serves again, every job ends by itself with its whole output, whatever happens to the
# controller meanwhile; a broken release stops at the canary and is taken back. People's drains stay.
# The first of them is made from a plan file, which is refused once the nodes have moved.
# Jobs that take too long are requeued where an administrator asked for it and they allow it.
# Then by policy alone: a stack whose driver branch moves, by `muster inventory apply` and nothing else.
# At last back to the stack of before by `muster update STACK`, without a reboot.
# Usage: [SUITE=bookworm|trixie] update_test.sh
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly suite=${SUITE:-bookworm} workers=(c001 c002 c003 c004)
work=$(mktemp -d)
watcher='' killer=''
clean() {
  [[ -z $killer ]] || kill "$killer" 2>/dev/null || true
  [[ -z $watcher ]] || kill "$watcher" 2>/dev/null || true
  rm -rf "$work"
}

release_site() {  # RELEASE [PACKAGE]: a site with it; prints its playbook
  local folder=$work/$1
  cp -r tests/testdata/lab/update "$folder"
  printf 'release: "%s"\nrelease_packages: [%s]\n' "$1" "${2:-}" \
    >"$folder/playbooks/roles/release/defaults/main.yaml"
  echo "$folder/playbooks/update.yaml"
}
boot_of() { lab exec "$1" cat /proc/sys/kernel/random/boot_id; }  # NODE
release_of() { lab exec "$1" cat /etc/lab-release; }              # NODE
# A '-' after a state: Slurm has plans for what is free of the node.
all_serve() { [[ $(lab exec login1 sinfo -h -N -o '%N %T' | grep -cE ' (idle|planned|mixed|allocated)-?$') == 4 ]]; }
submit() { lab exec login1 sbatch --parsable --mem=16 --open-mode=append "$@"; }  # ARGS…: prints the id
job_state() { lab exec login1 scontrol --oneliner show job "$1" | grep -o 'JobState=[A-Z]*'; }  # JOB
restarts() { lab exec login1 scontrol --oneliner show job "$1" | grep -o 'Restarts=[0-9]*'; }  # JOB
update() {  # ARGS…: leaves the exit code in RC, what was said in OUTPUT, the rollout in ID
  RC=0
  show muster update --yes "$@" || RC=$?
  OUTPUT=$SAID
  ID=$(sed -n 's/^rollout \(u-[a-z0-9]\{8\}\)$/\1/p' <<<"$OUTPUT" | head -n 1)
}
expect_refused() {  # VERB FILE PART
  local rc=0
  show muster "$1" "$2" --yes || rc=$?
  expect_equal 1 "$rc" "exit code of $1 $(basename "$2")"
  expect_contains "$SAID" "$3" "$1 $(basename "$2")"
}
rollout_field() { muster -o json rollout show "$1" | read_json 'print(value.get(sys.argv[1], ""))' "$2"; }  # ID FIELD
stack_file() {  # BRANCH VERSION: a stack with this driver
  cat <<EOF
description: The driver $2
os: [debian 12, debian 13]
kernel: {from: "5.0", below: "9.0"}
driver: {branch: "$1", version: $2, modules: proprietary}
EOF
}
# Puts the lab's inventory in force with a policy and a stack; the window as `date` reads its ends.
apply_policy() {  # STACK FROM TO
  local inventory
  inventory=$(lab_folder)/inventory
  mkdir -p "$inventory/group_vars"
  echo "stack: $1" >"$inventory/group_vars/compute.yaml"
  cat >"$inventory/updates.yaml" <<EOF
updates:
  nightly:
    playbook: playbooks/update.yaml
    window: "$(lab exec login1 date -d "$2" +%H:%M)-$(lab exec login1 date -d "$3" +%H:%M)"
    max_unavailable: 1
EOF
  muster inventory apply "$inventory"
}
policy_is() { muster -o json rollout policies | read_json 'sys.exit(value["policies"][0]["state"] != sys.argv[1])' "$1"; }  # STATE
rollouts() { muster -o json rollout list | read_json 'print(len(value["rollouts"]))'; }
# Kills musterd whenever a node of the latest rollout has gone on, the first two that enter each step: the
# canary and a node of the waves. Leaves a line for each kill in the file kills.
kill_at_transitions() {
  local id node way
  : >"$work/kills"
  while sleep 0.1; do
    id=$(muster -o json rollout list 2>/dev/null | read_json 'print(value["rollouts"][0]["rollout_id"])' 2>/dev/null) || continue
    muster -o json rollout show "$id" 2>/dev/null | read_json '
for event in value["events"]:
    if event.get("node"): print(event["node"], event["step"])' 2>/dev/null >"$work/ways" || continue
    while read -r node way; do
      if (($(grep -c " $way$" "$work/kills") < 2)) && ! grep -qx "$node $way" "$work/kills"; then
        echo "$node $way" >>"$work/kills"
        lab exec login1 systemctl kill -s KILL musterd || true
        break
      fi
    done <"$work/ways"
  done
}
# The workers that are out of service at once, by somebody who asks slurmctld all the time: a line each
# time, of nodes with their states. A node that is "idle*" has been given back, and slurmctld reaches it
# within a second or so; one that is away for longer is drained or down.
watch_service() {
  lab exec login1 sh -c 'while sleep 0.2; do
    echo $(sinfo -h -N -o "%N:%T" 2>/dev/null | sort -u |
      grep -vE ":(idle[*]?|planned|mixed|allocated|completing)-?$"); done' \
    >"$work/out_of_service" 2>/dev/null &
  watcher=$!
}
expect_most_out_of_service() {  # NUMBER
  kill "$watcher" 2>/dev/null || true
  watcher=''
  sort "$work/out_of_service" | uniq -c
  expect_equal "$1" "$(awk 'NF > most {most = NF} END {print most + 0}' "$work/out_of_service")" \
    "workers that were out of service at once"
}

GATE=on start_cluster 4 "$suite" --prepared
join 'login1,c[001-004]'
apply playbooks/site.yaml
expect_applied 0 "rollout"
first=$(release_site 1)
apply_and_validate "$first"
expect_applied 0 "the first release"
wait_for 60 "all serve" all_serve
boots=()
for node in "${workers[@]}"; do boots+=("$(boot_of "$node")"); done

step "a new release, with jobs on every node and a controller that is killed at each transition"
watch_service
lab exec c001 rm -f /var/tmp/go
long=$(submit -w c001 -t 30 -o /var/tmp/long.out \
  --wrap 'until [ -e /var/tmp/go ]; do sleep 0.2; done; for i in $(seq 25); do echo line $i; sleep 1; done')
short=$(submit --array=1-40 -t 2 -c 1 -o /var/tmp/short.%A_%a.out --wrap 'echo begin; sleep 2; echo end')
second=$(release_site 2 tree)
long_runs() { [[ $(job_state "$long") == JobState=RUNNING ]]; }
wait_for 60 "the long job runs" long_runs
RC=0
show muster update "$second" --max-unavailable 1 --soak 1s --plan --out "$work/plan.json" || RC=$?
expect_equal 2 "$RC" "exit code of a plan with changes"
grep -qE "^$long +root +wrap +" <<<"$SAID" || fail "the plan does not name the job in the way: $SAID"
expect_contains "$SAID" "takes       at most" "how long the whole takes"
expect_contains "$SAID" "install packages  tree" "the package"
expect_contains "$SAID" "c[001-004]  3 steps    yes" "who reboots"
sed 's|/etc/lab-release|/etc/lab-releasf|' "$work/plan.json" >"$work/edited.json"
expect_refused update "$work/edited.json" "was changed since it was written"
expect_refused apply "$work/plan.json" "is a plan of"
kill_at_transitions &
killer=$!
lab exec c001 touch /var/tmp/go
update "$work/plan.json"
kill "$killer" 2>/dev/null || true
killer=''
expect_equal 0 "$RC" "exit code of the update"
cat "$work/kills"
for way in draining applying validating resuming done; do
  (($(grep -c " $way$" "$work/kills") == 2)) || fail "musterd was not killed twice as a node went on to $way"
done
wait_for 60 "all serve again" all_serve
expect_most_out_of_service 1
for i in "${!workers[@]}"; do
  node=${workers[$i]}
  expect_equal 2 "$(release_of "$node")" "release of $node"
  [[ $(boot_of "$node") != "${boots[$i]}" ]] || fail "$node was not rebooted"
  lab exec "$node" test -x /usr/bin/tree || fail "$node lacks the package"
done
expect_equal JobState=COMPLETED "$(job_state "$long")" "the long job"
expect_equal Restarts=0 "$(restarts "$long")" "its restarts: nothing is requeued unasked"
expect_equal "line 25" "$(lab exec c001 tail -n 1 /var/tmp/long.out)" "its whole output"
no_short_job_left() { [[ -z $(lab exec login1 squeue -h -j "$short" 2>/dev/null) ]]; }
wait_for 120 "the end of the short jobs" no_short_job_left
begun=0 ended=0
for node in "${workers[@]}"; do
  begun=$((begun + $(lab exec "$node" sh -c 'cat /var/tmp/short.*.out 2>/dev/null | grep -c begin' || true)))
  ended=$((ended + $(lab exec "$node" sh -c 'cat /var/tmp/short.*.out 2>/dev/null | grep -c end' || true)))
done
expect_equal "40 40" "$begun $ended" "short jobs that began and ended, each once"

step "the plan was carried out, and holds no more"
[[ -n $(muster -o json rollout show "$ID" | read_json 'print(value["request"]["plan_sha256"])') ]] || fail "not by the plan"
expect_refused update "$work/plan.json" "the plan no longer holds"

step "the record tells the same"
muster -o json rollout show "$ID" | read_json '
assert value["state"] == "completed", value["state"]
out, most, ways = set(), 0, {}
for event in value["events"]:
    if not event.get("node"): continue
    step = event["step"]
    ways.setdefault(event["node"], []).append(step)
    (out.discard if step == "done" else out.add)(event["node"])
    most = max(most, len(out))
assert most == 1, most
want = ["draining", "applying", "validating", "resuming", "done"]
assert set(map(tuple, ways.values())) == {tuple(want)} and len(ways) == 4, ways'
muster rollout show "$ID" --html "$work/report.html" >/dev/null
grep -q "$ID" "$work/report.html" || fail "the page does not name the rollout"
expect_contains "$(muster rollout explain c002)" "done" "what became of c002"

step "the same release again changes nothing and tests nothing"
before=$(muster -o json validate list | read_json 'print(len(value["validations"]))')
update "$second" --max-unavailable 4 --canary 0
expect_equal 0 "$RC" "exit code of an update without changes"
expect_equal "$before" "$(muster -o json validate list | read_json 'print(len(value["validations"]))')" "validations"
wait_for 60 "all serve again" all_serve

step "a broken release stops at the canary, and is taken back"
boots=()
for node in "${workers[@]}"; do boots+=("$(boot_of "$node")"); done
update "$(release_site broken)" --max-unavailable 1 --on-failure rollback
expect_equal 3 "$RC" "exit code of a broken release"
back=$(rollout_field "$ID" rolled_back_by)
[[ -n $back ]] || fail "nothing takes $ID back: $(muster rollout show "$ID")"
muster rollout watch "$back"
expect_equal completed "$(rollout_field "$back" state)" "the way back"
touched=$(muster -o json run list | read_json '
print(len({run["limit"] for run in value["runs"] if run["state"] == "failed"}))')
expect_equal 1 "$touched" "nodes that the broken release has touched"
for node in "${workers[@]}"; do expect_equal 2 "$(release_of "$node")" "release of $node"; done
wait_for 60 "all serve again" all_serve

step "drains of people stay: one by Muster, one by Slurm; the login node follows the workers"
muster node drain c003 --reason "bad fan"
wait_for 20 "c003 is drained" is_drained_for c003 "bad fan"
lab exec login1 scontrol update NodeName=c004 State=DRAIN Reason="bad disk"
update "$(release_site 3)" --max-unavailable 3 --limit 'c[003-004],login1' --login-and-storage -e login_release=3
expect_equal 0 "$RC" "exit code of an update of drained nodes"
for node in c003 c004 login1; do expect_equal 3 "$(release_of "$node")" "release of $node"; done
muster -o json rollout show "$ID" | read_json '
done = [event["node"] for event in value["events"] if event.get("step") == "done"]
assert sorted(done[:2]) == ["c003", "c004"] and done[2:] == ["login1"], done'
is_drained_for c003 "bad fan" || fail "c003 has lost its drain: $(reason c003)"
is_drained_for c004 "bad disk" || fail "c004 has lost its drain: $(reason c004)"
muster node resume c003
lab exec login1 scontrol update NodeName=c004 State=RESUME
wait_for 60 "all serve again" all_serve

step "jobs that take too long are requeued if that is asked for, where they can be"
slow=$(submit -w c001 --requeue -t 20 -o /var/tmp/slow.out \
  --wrap 'echo begin; [ -n "$SLURM_RESTART_COUNT" ] || exec sleep 900; echo end')
lab exec c002 rm -f /var/tmp/go
firm=$(submit -w c002 --no-requeue -t 20 -o /var/tmp/firm.out \
  --wrap 'until [ -e /var/tmp/go ]; do sleep 0.2; done; for i in $(seq 20); do echo line $i; sleep 1; done')
both_run() { [[ $(job_state "$slow") == JobState=RUNNING && $(job_state "$firm") == JobState=RUNNING ]]; }
wait_for 60 "both jobs run" both_run
(
  for _ in $(seq 600); do
    [[ $(restarts "$slow") != Restarts=1 ]] || break
    sleep 0.2
  done
  lab exec c002 touch /var/tmp/go
) &
ender=$!
update "$(release_site 4)" --limit 'c[001-002]' --canary 0 --max-unavailable 2 \
  --drain-timeout 5s --on-timeout requeue
expect_equal 0 "$RC" "exit code of an update that requeues"
wait "$ender"
for node in c001 c002; do expect_equal 4 "$(release_of "$node")" "release of $node"; done
muster -o json rollout show "$ID" | read_json '
ways = {}
for event in value["events"]:
    if event.get("node"): ways.setdefault(event["node"], []).append(event["step"])
want = ["draining", "requeuing", "applying", "validating", "resuming", "done"]
assert ways == {"c001": want, "c002": want}, ways'
expect_equal JobState=COMPLETED "$(job_state "$firm")" "the job that may not be requeued"
expect_equal Restarts=0 "$(restarts "$firm")" "its restarts"
expect_equal "line 20" "$(lab exec c002 tail -n 1 /var/tmp/firm.out)" "its whole output"
expect_equal Restarts=1 "$(restarts "$slow")" "restarts of the job that was requeued"
# Slurm would let it wait for two minutes.
lab exec login1 scontrol update JobId="$slow" StartTime=now
requeued_ended() { [[ $(job_state "$slow") == JobState=COMPLETED ]]; }
wait_for 120 "the requeued job ends" requeued_ended
expect_equal "begin begin end" "$(lab exec c001 cat /var/tmp/slow.out | grep -E '^(begin|end)$' | tr '\n' ' ' | sed 's/ $//')" \
  "output of both its runs"
muster -o json audit list --limit 500 | read_json '
found = [e["detail"] for e in value["events"] if e["action"] == "rollout.requeue"]
assert len(found) == 2, found
assert any(sys.argv[1] in detail for detail in found), found' "$slow"
wait_for 60 "all serve again" all_serve

step "what an administrator applied is what the policy finds up to date"
stacked=$(release_site stacked)
sed -i 's/^release: .*/release: "{{ stack.driver.branch }}"/' "$work/stacked/playbooks/roles/release/defaults/main.yaml"
mkdir "$work/stacked/playbooks/stacks"
stack_file 535 535.261.03 >"$work/stacked/playbooks/stacks/before.yaml"
stack_file 550 550.163.01 >"$work/stacked/playbooks/stacks/after.yaml"
apply_policy before "2 hours" "3 hours"
wait_for 20 "the policy waits for its window" policy_is pending
apply_and_validate "$stacked"
expect_applied 0 "the first stack"
for node in "${workers[@]}"; do expect_equal 535 "$(release_of "$node")" "driver branch of $node"; done
wait_for 60 "all serve" all_serve
wait_for 20 "the policy is up to date" policy_is up_to_date

step "a stack that moved waits for the window"
before=$(rollouts)
apply_policy after "2 hours" "3 hours"
wait_for 20 "the policy waits for its window" policy_is pending
sleep 8
expect_equal "$before" "$(rollouts)" "rollouts outside of the window"
expect_contains "$(muster status)" "nightly: pending" "the summary of the cluster"

step "it rolls over the workers inside the window, by the policy alone"
watch_service
long=$(submit -w c001 -t 10 -o /var/tmp/policy.out --wrap 'for i in $(seq 20); do echo line $i; sleep 1; done')
apply_policy after "1 hour ago" "1 hour"
wait_for 20 "the policy starts a rollout" policy_is running
lab exec login1 systemctl kill -s KILL musterd
wait_for 300 "the policy is up to date" policy_is up_to_date
wait_for 60 "all serve again" all_serve
expect_most_out_of_service 1
muster rollout list
expect_equal $((before + 1)) "$(rollouts)" "rollouts, in spite of the restart"
ID=$(muster -o json rollout policies | read_json 'print(value["policies"][0]["rollout_id"])')
expect_equal policy:nightly "$(rollout_field "$ID" created_by)" "who started it"
expect_equal completed "$(rollout_field "$ID" state)" "what it came to"
for node in "${workers[@]}"; do expect_equal 550 "$(release_of "$node")" "driver branch of $node"; done
expect_equal JobState=COMPLETED "$(job_state "$long")" "the job that was in the way"
muster -o json audit list --limit 500 | read_json '
assert any(e["action"] == "rollout.create" and e["actor"] == "policy:nightly" for e in value["events"])'
lab exec login1 systemctl restart musterd
sleep 12
expect_equal $((before + 1)) "$(rollouts)" "rollouts after another restart"

step "back to the stack of before by one command, and no node reboots until it suits"
rm "$(lab_folder)/inventory/updates.yaml"
muster inventory apply "$(lab_folder)/inventory"
boots=()
for node in "${workers[@]}"; do boots+=("$(boot_of "$node")"); done
update before --site "$work/stacked" --inventory "$(lab_folder)/inventory" \
  --playbook playbooks/update.yaml --reboot never --canary 0 --max-unavailable 4
expect_equal 0 "$RC" "exit code of the update to a stack"
expect_equal "stack: before" "$(cat "$(lab_folder)/inventory/group_vars/compute.yaml")" "the choice in the inventory"
for i in "${!workers[@]}"; do
  node=${workers[$i]}
  expect_equal 535 "$(release_of "$node")" "driver branch of $node"
  expect_equal "${boots[$i]}" "$(boot_of "$node")" "boot of $node"
done
expect_contains "$(muster node list)" "c[001-004]: new release" "the nodes that have to reboot"
show muster node reboot c001 --yes
expect_contains "$(muster node list)" "c[002-004]: new release" "the nodes that still have to reboot"
echo PASSED
