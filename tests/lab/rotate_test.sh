#!/bin/bash
# A new munge key for a running cluster: a job on all nodes ends well, srun works
# before and after it, and waits a moment during it; refused with a node cut off;
# resumed after the controller was killed in the middle.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

# The longest time in which srun may wait or fail, in milliseconds: slurmctld looks for what waits every 2 s
# (sched_min_interval). A message that a node could not read is repeated after up to 60 s.
readonly longest_gap=45000
output=$(mktemp)

key_of() { lab exec "$1" sha256sum /etc/munge/munge.key | cut -d' ' -f1; }  # NODE
version() { muster -o json secret list | read_json '
print([s["version"] for s in value["secrets"] if s["name"] == "munge_key"][0])'; }
phase() { muster -o json secret list | read_json '
print([(s.get("rotation") or {}).get("phase", "none") for s in value["secrets"] if s["name"] == "munge_key"][0])'; }

connected() {  # NODE…: whether exactly these are
  [[ $(muster -o json node list | read_json '
print(*sorted(n["name"] for n in value["nodes"] if n.get("connected")))') == "$*" ]]
}

same_key_everywhere() {
  local keys
  keys=$(for node in login1 c001 c002 c003; do key_of "$node"; done | sort -u | wc -l)
  expect_equal 1 "$keys" "different keys on the nodes"
}

# Reads "start end rc" lines in milliseconds, prints "tries failures gap": the gap
# is the longest time between the end of one srun that worked and that of the next.
measure() {  # FILE
  python3 - "$1" <<'EOF'
import sys
rows = [list(map(int, line.split())) for line in open(sys.argv[1]) if len(line.split()) == 3]
good = [end for start, end, rc in rows if rc == 0]
gap = max((b - a for a, b in zip(good, good[1:])), default=10**9)
print(len(rows), sum(rc != 0 for _, _, rc in rows), gap)
EOF
}

measured_cluster 3 bookworm --prepared
join 'login1,c[001-003]'
apply playbooks/site.yaml
expect_applied 0 "rollout"
wait_for 30 "all nodes idle" nodes_idle c001 c002 c003
before=$(key_of login1)

step "refused with a node cut off"
lab link c003 down
wait_for 30 "missing c003" connected c001 c002 login1
refusal=$(muster secret rotate munge_key --yes 2>&1) && fail "rotated without c003"
expect_contains "$refusal" "c003 uses secret munge_key and is not connected" "the refusal"
lab link c003 up
expect_equal "1 none" "$(version) $(phase)" "the secret after a refusal"
wait_for 60 "all agents" connected c001 c002 c003 login1
wait_for 60 "all nodes idle again" nodes_idle c001 c002 c003

step "rotation under a running job"
job=$(lab exec login1 sbatch --parsable -N3 -n3 --mem=16 --overcommit -o /tmp/job.out --wrap 'srun --overlap --mem=16 -n3 sleep 25; echo "job done"')
# shellcheck disable=SC2016  # expanded on the node
lab exec login1 sh -c 'cat >/tmp/loop.sh <<"EOF"
while [ ! -e /tmp/stop ]; do
  start=$(date +%s%3N)
  timeout 20 srun --mem=16 -N1 -n1 true 2>>/tmp/loop.err && rc=0 || rc=$?
  echo "$start $(date +%s%3N) $rc"
done >/tmp/loop.out
EOF
rm -f /tmp/stop; nohup sh /tmp/loop.sh >/dev/null 2>&1 &'
wait_for 20 "the job" sh -c "./dev lab exec --name $LAB_TEST_NAME login1 squeue -h -j $job -t R | grep -q ."
sleep 3
muster secret rotate munge_key --yes || fail "rotation ended with $?"
expect_equal "2 none" "$(version) $(phase)" "the secret after its rotation"
same_key_everywhere
[[ $(key_of login1) != "$before" ]] || fail "the key has not changed"
# PARTITION_SUBMIT alone: jobs are taken and not started.
expect_contains "$(lab exec login1 cat /var/log/slurm/slurmctld.log)" "setting state_up to 1 for partition batch" \
  "the partition during the rotation"
expect_equal up "$(lab exec login1 sinfo -h -o %a | sort -u | xargs)" "the partitions after the rotation"
sleep 4
lab exec login1 touch /tmp/stop
wait_for 30 "the job's end" sh -c "! ./dev lab exec --name $LAB_TEST_NAME login1 squeue -h -j $job | grep -q ."
state=$(lab exec login1 scontrol show job "$job" | grep -o 'JobState=[A-Z]*')
expect_equal JobState=COMPLETED "$state" "the job that ran meanwhile"
expect_contains "$(lab exec c001 cat /tmp/job.out)" "job done" "its output"
lab exec login1 cat /tmp/loop.out >"$output"
read -r tries failures gap <<<"$(measure "$output")"
echo "srun over the rotation: $tries tries, $failures failed, longest gap $gap ms"
((tries >= 5)) || fail "srun hardly ran: $tries tries"
((gap <= longest_gap)) || { lab exec login1 cat /tmp/loop.err; fail "srun did not work for $gap ms"; }
expect_equal "c001 c002 c003" "$(lab exec login1 srun -N3 hostname | sort | xargs)" "a job on three nodes afterwards"

step "nothing left to do"
apply playbooks/site.yaml --detailed-exitcode >/dev/null
expect_applied 0 "an apply after the rotation"

step "the controller killed in the middle, and --resume"
before=$(key_of login1)
# An agent that stands still keeps the first part from ending.
lab exec c003 systemctl kill --kill-whom=main --signal=STOP muster-agent
./dev lab muster --name "$LAB_TEST_NAME" secret rotate munge_key --yes </dev/null >"$output" 2>&1 &
rotation=$!
wait_for 30 "the first part" grep -q '^play 1' "$output"
lab exec login1 systemctl kill --signal=KILL musterd
kill "$rotation" 2>/dev/null || true
wait "$rotation" || true
lab exec c003 systemctl kill --kill-whom=main --signal=CONT muster-agent
wait_for 30 "the controller" muster status
expect_equal "2 staging" "$(version) $(phase)" "the secret after the kill"
expect_equal "$before" "$(key_of login1)" "login1's key after the kill"
refusal=$(muster secret generate munge_key --replace 2>&1) && fail "the secret was replaced meanwhile"
expect_contains "$refusal" "--resume" "the refusal meanwhile"
wait_for 60 "all agents" connected c001 c002 c003 login1
muster secret rotate munge_key --resume --yes || fail "resuming ended with $?"
expect_equal "3 none" "$(version) $(phase)" "the secret after --resume"
same_key_everywhere
[[ $(key_of login1) != "$before" ]] || fail "the key has not changed"
wait_for 30 "all nodes idle" nodes_idle c001 c002 c003
expect_equal "c001 c002 c003" "$(lab exec login1 srun -N3 hostname | sort | xargs)" "a job after --resume"
apply playbooks/site.yaml --detailed-exitcode >/dev/null
expect_applied 0 "an apply after --resume"

step "the log"
actions=$(muster audit list -n 500 | grep -o 'secret\.rotate\.[a-z]*' | sort | uniq -c | xargs)
expect_contains "$actions" "2 secret.rotate.finish" "what the audit log says: $actions"
expect_contains "$actions" "1 secret.rotate.resume" "what the audit log says: $actions"
rm "$output"
echo PASSED
