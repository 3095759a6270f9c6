#!/bin/bash
# The gate to Slurm: jobs run on nodes that have passed a validation as what they are, and on no
# others, from a node's first registration on; drains that administrators made stay theirs.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"
# shellcheck source=tests/lab/fake_gpus.sh
source "$(dirname "$0")/fake_gpus.sh"

readonly site=tests/testdata/lab/gate
work=$(mktemp -d)

validate() { validate_nodes gate "$site" "$@"; }  # NODES ARGS…

serves() { [[ $(node_field "$1" State) =~ ^(IDLE|MIXED|ALLOCATED)$ ]]; }  # NODE
submit() { lab exec login1 sbatch --parsable --output=/dev/null "$@"; }   # ARGS…: prints the id
is_running() { [[ $(lab exec login1 squeue -h -t R -o %i -j "$1") == "$1" ]]; }  # JOB
service_of() {  # NODE: as `muster node list` has it
  muster -o json node list | read_json '
[node] = [n for n in value["nodes"] if n["name"] == sys.argv[1]]
print(node.get("service", ""))' "$1"
}
has_metric() { says -xF "$1" lab exec login1 curl -s http://127.0.0.1:7481/metrics; }  # SERIES AND VALUE
is_service() { [[ $(service_of "$1") == "$2" ]]; }  # NODE SERVICE

# With the nodes before it, which have joined; the workers among NODES are drained then.
roll_out() {  # LIMIT NODES…
  local node
  apply playbooks/site.yaml --limit "$1" >"$work/apply.log"
  shift
  expect_applied 0 "rollout of $*"
  for node in "$@"; do
    wait_for 10 "$node is drained from the start" is_drained_for "$node" "muster:gate"
  done
}

GATE=on measured_cluster 2 bookworm --prepared --gpus 3
mkdir "$work/inventory"
cp "$(lab_folder)"/inventory/* "$work/inventory/"
cat >"$work/inventory/gpus.yaml" <<'YAML'
groups:
  cards: {nodes: "c[001-002]", vars: {gpu_model: NVIDIA GeForce RTX 2080 Ti, gpu_count: 3}}
YAML
muster inventory apply "$work/inventory" >/dev/null
step "a node that has not passed takes no job"
join 'login1,c001'
roll_out 'login1,c001' c001
# Wants every node that there is, again and again, and leaves a mark where it was.
jobs=$(submit --array=1-500 --exclusive --wrap 'touch /var/tmp/job_was_here; sleep 1')
expect_equal "not validated" "$(service_of c001)" "service of c001"
sleep 1
lab exec c001 test ! -e /var/tmp/job_was_here || fail "a job ran before the pass"

step "a pass lets it in"
validate c001
expect_equal 0 "$RC" "exit code of a pass"
# Slurm looks at jobs that wait for a node once a minute.
wait_for 90 "a job on c001" lab exec c001 test -e /var/tmp/job_was_here
wait_for 5 "c001 in service" is_service c001 "in service"
wait_for 5 "the metric says so" has_metric 'muster_node_in_service{node="c001"} 1'

step "a new node beside it is drained before its first job"
join c002
roll_out all c002
lab exec c002 test ! -e /var/tmp/job_was_here || fail "a job ran on the new node before its pass"
validate c002
expect_equal 0 "$RC" "exit code of a pass"
wait_for 90 "a job on c002" lab exec c002 test -e /var/tmp/job_was_here
lab exec login1 scancel "$jobs"
wait_for 20 "both idle" nodes_idle c001 c002

step "a node that is validated alone is measured with an idle one, which serves again afterwards"
# Equally fast both ways, as what this host makes of links says nothing of nodes.
for node in c001 c002; do lab link "$node" rate=400mbit; done
validate_nodes pair "$site" c001 --detach
expect_equal 0 "$RC" "exit code of a validation that begins"
is_drained_for c002 "muster:$ID being validated" || fail "the witness serves meanwhile: $(reason c002)"
muster validate watch "$ID"
muster -o json validate show "$ID" | read_json '
of = {node["node"]: node for node in value["nodes"]}
assert set(of) == {"c001", "c002"}, of
assert of["c001"]["outcome"] == "pass" and not of["c001"].get("is_witness"), of
assert of["c002"]["is_witness"] and of["c002"].get("outcome") != "pass", of
checks = {name: [(c["check"], c.get("partner", ""), c["outcome"]) for c in of[name]["checks"]] for name in of}
assert ("nic-pair", "c002", "pass") in checks["c001"], checks
assert checks["c002"] == [("nic-pair", "c001", "pass")], checks'
expect_contains "$(muster validate show "$ID")" "c002 was borrowed as a witness" "what is shown"
wait_for 20 "both serve" nodes_idle c001 c002
is_service c002 "in service" || fail "c002 lost its pass: $(service_of c002)"

step "without an idle node its network stays unknown, and it says what to do"
job=$(submit -w c002 --wrap 'sleep 600')
wait_for 90 "job $job runs" is_running "$job"
validate_nodes pair "$site" c001
expect_equal 2 "$RC" "exit code of an unknown"
expect_contains "$OUTPUT" "muster validate c001,ANOTHER --suite pair" "the remedy"
is_running "$job" || fail "the job of the node that could have been the witness is gone"
lab exec login1 scancel "$job"
wait_for 20 "both idle" nodes_idle c001 c002

step "another driver than what passed needs a pass of its own"
for node in c001 c002; do
  lab exec "$node" sed -i 's/535\.261\.03/535.274.02/' /etc/muster-fake-nvidia.json
  muster node facts "$node" --refresh >/dev/null
  wait_for 40 "$node is drained" is_drained_for "$node" "muster:gate"
done
validate compute
expect_equal 0 "$RC" "exit code of a pass"
wait_for 10 "both idle" nodes_idle c001 c002

step "a node with a job is not validated, unless forced; meanwhile nothing else starts on it"
job=$(submit -w c001 --wrap 'sleep 600')
wait_for 90 "job $job runs" is_running "$job"
validate c001
expect_equal 1 "$RC" "exit code of a refusal"
expect_contains "$OUTPUT" "job $job (root, wrap) runs on c001" "the refusal"
wait_for 10 "c001 serves again" serves c001
validate c001 --force --detach
expect_equal 0 "$RC" "exit code of a forced validation"
is_drained_for c001 "muster:$ID being validated" || fail "no drain for $ID: $(reason c001)"
muster validate watch "$ID" >/dev/null
is_running "$job" || fail "the drain ended the job"
lab exec login1 scancel "$job"
wait_for 20 "both idle" nodes_idle c001 c002

step "a broken card: the node is drained for its validation, the other goes on"
set_gpus c001 '{"missing": true}'
validate c001
expect_equal 1 "$RC" "exit code of a fail"
wait_for 10 "c001 is drained" is_drained_for c001 "muster:$ID failed"
expect_equal "quarantined: failed $ID" "$(service_of c001)" "service of c001"
expect_equal c002 "$(lab exec login1 srun -N1 --immediate=60 hostname)" "where srun runs"
expect_contains "$(muster status)" "1 quarantined" "status"
wait_for 5 "the metrics say so" has_metric 'muster_nodes_by_service{service="quarantined"} 1'
has_metric 'muster_node_in_service{node="c001"} 0' || fail "c001 is in service, for Prometheus"

step "mended: it passes and serves again"
set_gpus c001
validate c001
expect_equal 0 "$RC" "exit code after the repair"
wait_for 10 "both idle" nodes_idle c001 c002

step "an administrator's drain stays through a pass, also one on top of ours"
lab exec login1 scontrol update NodeName=c002 State=DRAIN Reason="bad disk"
validate c002
expect_equal 0 "$RC" "exit code of a pass"
sleep 1
is_drained_for c002 "bad disk" || fail "the administrator's drain is gone"
expect_equal "drained by root: bad disk" "$(service_of c002)" "service of c002"
lab exec login1 scontrol update NodeName=c002 State=RESUME
wait_for 10 "c002 serves" serves c002

step "a file that somebody changed is drift; the policy repairs the worker when it may"
drift_is() {  # NODE STATE
  [[ $(muster -o json drift "$1" | read_json '
print(value["policies"][0]["nodes"][0]["state"])') == "$2" ]]
}
watch_drift() {  # KEYS…: of the policy
  printf 'drift:\n  site: {playbook: playbooks/motd.yaml, nodes: compute, every: 10s%s}\n' "$1" \
    >"$work/inventory/drift.yaml"
  muster inventory apply "$work/inventory" >/dev/null
}
mkdir -p "$work/motd/playbooks"
cat >"$work/motd/playbooks/motd.yaml" <<'YAML'
- play: message of the day
  hosts: compute
  tasks:
    - name: message of the day
      file: {path: /etc/motd, content: "Welcome to {{ node.name }}\n", mode: "0644"}
YAML
apply "$work/motd/playbooks/motd.yaml"
expect_applied 0 "message of the day"
watch_drift ""
wait_for 60 "c001 as applied" drift_is c001 as_applied
drift_is c002 as_applied || fail "c002 is not as applied: $(muster drift)"
lab exec c001 sh -c "echo 'by hand at 3 a.m.' >>/etc/motd"
wait_for 60 "c001 differs" drift_is c001 differs
RC=0
show muster drift --changes || RC=$?
expect_equal 2 "$RC" "exit code of drift"
expect_contains "$SAID" "-by hand at 3 a.m." "the difference"
expect_contains "$(muster status)" "not as applied: c001" "status"
has_metric 'muster_drift_nodes{policy="site",state="differs"} 1' || fail "no metric of drift"
sleep 15
lab exec c001 grep -q "by hand" /etc/motd || fail "a policy without repair has repaired"
watch_drift ", repair: true"
wait_for 90 "c001 is repaired and as applied" drift_is c001 as_applied
! lab exec c001 grep -q "by hand" /etc/motd || fail "the file is as it was changed"
wait_for 20 "c001 serves again" serves c001
expect_equal "policy:drift/site c001" "$(muster -o json rollout list | read_json '
[one] = value["rollouts"]
print(one["created_by"], one["request"]["limit"])')" "the repair"
rm "$work/inventory/drift.yaml"
muster inventory apply "$work/inventory" >/dev/null

step "a package that was installed by hand makes a node unlike the others"
values_of() {  # TRAIT: the nodes of each value, "all" where there is one
  muster node facts c001 --refresh >/dev/null
  RC=0
  muster -o json node compare compute >"$work/compared.json" || RC=$?
  read_json '
[workers] = value["classes"]
[trait] = [trait for trait in workers["traits"] if trait["name"] == sys.argv[1]]
print(*sorted(",".join(each["nodes"]) or "all" for each in trait["values"]))' "$1" <"$work/compared.json"
}
expect_equal all "$(values_of packages)" "nodes with the same packages"
lab exec c001 sh -c 'mkdir -p /root/by-hand/DEBIAN && printf "%s\n" "Package: by-hand" "Version: 1" \
  "Architecture: all" "Maintainer: nobody <nobody@localhost>" "Description: at 3 a.m." >/root/by-hand/DEBIAN/control &&
  dpkg-deb --build /root/by-hand >/dev/null && dpkg --install /root/by-hand.deb >/dev/null'
expect_equal "c001 c002" "$(values_of packages)" "nodes with the same packages"
RC=0
show muster node compare compute || RC=$?
expect_equal 2 "$RC" "exit code of a comparison of unlike nodes"
RC=0
named=$(muster node compare compute --packages) || RC=$?
printf '%s\n' "$named"
expect_equal 2 "$RC" "exit code of a comparison that names packages"
says -E '^(by-hand +all +(1 +-|- +1))$' printf '%s\n' "$named" || fail "the package is not named: $named"
expect_equal 1 "$(grep -cE '^[a-z0-9.+-]+ +(all|amd64) ' <<<"$named")" "packages that are named"
expect_contains "$(muster drift)" "unlike other compute nodes: NVIDIA driver, packages (" "drift"
lab exec c001 dpkg --purge by-hand >/dev/null
expect_equal all "$(values_of packages)" "nodes with the same packages"

step "another GPU: what passed is not there any more"
set_gpus c001 '{"uuid": "GPU-another"}'
muster node facts c001 --refresh >/dev/null
wait_for 40 "c001 is drained" is_drained_for c001 "muster:gate"
lab exec login1 scontrol update NodeName=c001 State=DRAIN Reason="taken over"
validate c001
expect_equal 0 "$RC" "exit code of a pass"
sleep 1
is_drained_for c001 "taken over" || fail "a drain that was taken over is gone"
echo PASSED
