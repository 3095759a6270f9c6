#!/bin/bash
# A node into a running cluster by one command: from a bare machine that no inventory names, past the gate
# to one that is idle in Slurm; then another machine under its name, and out of the cluster again, by one
# command each. The job that runs meanwhile continues, and slurmd of the other nodes is not restarted.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly suite=${SUITE:-bookworm}
on() { lab exec "$@" </dev/null; }  # NODE CMD…

# What a restart would change: the start of the unit, and the process too, except where slurmd replaces
# its own to take a new configuration (Slurm 24.11).
slurmd_of() {  # NODE
  local properties=InvocationID,ActiveEnterTimestampMonotonic,NRestarts
  [[ $suite != bookworm ]] || properties+=,MainPID,ExecMainStartTimestampMonotonic
  on "$1" systemctl show slurmd --property="$properties" | sort
}
shepherd_of() { on "$1" pgrep -f "slurmstepd.*[[]$2[.]batch[]]|slurmstepd: [[]$2[.]"; }  # NODE JOB
is_running() { [[ $(on login1 squeue -h -j "$1" -o %T) == RUNNING ]]; }  # JOB
contents() { (cd "$work/inventory" && sha256sum -- *); }

work=$(mktemp -d)
mkdir "$work/site"
cp -r playbooks "$work/site/"
shorten_acceptance "$work/site"

# The lab without c003, which stays bare.
if [[ $suite == bookworm ]]; then kind=(--prepared); else kind=(); fi
GATE=on start_cluster 3 "$suite" "${kind[@]}"
mkdir "$work/inventory"
address=$(sed -n 's/^  c003: {role: compute, address: \(.*\)}/\1/p' "$(lab_folder)/inventory/cluster.yaml")
[[ -n $address ]] || fail "the lab's inventory has no c003"
grep -v '^  c003: ' "$(lab_folder)/inventory/cluster.yaml" >"$work/inventory/cluster.yaml"
cat >"$work/inventory/groups.yaml" <<'YAML'
# Bought together.
groups:
  workers: {nodes: "c[001-002]"}  # all of them
partitions:
  batch: {nodes: workers, default: true}
  two: {nodes: c002}
YAML
muster inventory apply --yes "$work/inventory" >/dev/null
join 'login1,c[001-002]'
apply_and_validate "$work/site/playbooks/site.yaml" >"$work/apply.log"
[[ $APPLY_RC == 0 ]] || cat "$work/apply.log"
expect_applied 0 "rollout"
wait_for 30 "c001 and c002 idle" nodes_idle c001 c002

job=$(on login1 sbatch --parsable --chdir=/ --output=/dev/null --mem=50 -w c001 --wrap 'sleep 600')
wait_for 20 "job $job runs" is_running "$job"
shepherd=$(shepherd_of c001 "$job")
before=$(slurmd_of c001; slurmd_of c002)
add() { muster node add c003 --like c002 --address "$address" --site "$work/site" --inventory "$work/inventory" "$@"; }

nobody_else_noticed() {
  is_running "$job" || fail "job $job does not run any longer"
  expect_equal "$shepherd" "$(shepherd_of c001 "$job")" "the process of the job"
  expect_equal "$before" "$(slurmd_of c001; slurmd_of c002)" "slurmd of c001 and c002"
}
cp -r "$work/inventory" "$work/without_c003"

step "a plan changes nothing"
written=$(contents)
plan=$(add --plan)
expect_contains "$plan" "+ node c003: compute" "the plan"
expect_contains "$plan" "+  c003: {role: compute, address: $address}" "the edit"
expect_contains "$plan" "~ partition two: nodes c002 -> c[002-003]" "the plan"
expect_equal "$written" "$(contents)" "the inventory after a plan"

step "an inventory that differs from the controller's is refused"
echo 'vars: {changed: 1}' >"$work/inventory/more.yaml"
if show add --yes; then fail "a differing inventory was edited"; fi
expect_contains "$SAID" "differs" "the refusal"
rm "$work/inventory/more.yaml"

step "a machine that is unlike its neighbor is left out"
# It has GPUs, and c002 has none.
for library in libnvidia-ml.so.1 libcuda.so.1; do
  lab exec c003 sh -c "cat >/usr/lib/x86_64-linux-gnu/$library" <"build/release/fakes/nvidia/$library"
done
lab exec c003 sh -c 'echo "{\"gpus\": [{\"preset\": \"rtx_2080_ti\"}]}" >/etc/muster-fake-nvidia.json; ldconfig'
rc=0
show add --yes || rc=$?
expect_equal 3 "$rc" "exit code"
expect_contains "$SAID" "c003 is another machine than c002: GPUs: 1 × " "the difference"
expect_contains "$SAID" "c003: left out" "what becomes of it"
expect_equal enrolled "$(muster -o json node list c003 | read_json 'print(value["nodes"][0]["state"])')" "its state"
nobody_else_noticed
# Somebody takes the GPU out.
lab exec c003 sh -c 'rm /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1 \
  /etc/muster-fake-nvidia.json; ldconfig; systemctl restart muster-agent'
tells_no_gpu() { says -E '^GPUs +none ' muster node compare c003 --all; }
wait_for 30 "the facts of c003 without the GPU" tells_no_gpu

step "the node is added"
rc=0
show add --yes || rc=$?
expect_equal 0 "$rc" "exit code"
expect_contains "$SAID" "running job $job: still running" "the proof"
expect_contains "$(muster node show c003)" "in service" "c003"
expect_contains "$SAID" "slurmd of c[001-002]: not restarted" "the proof"
# A part of c001 is taken.
wait_for 20 "c003 idle" nodes_idle c002 c003

step "nobody else noticed"
nobody_else_noticed
expect_equal "c001 c003" "$(on login1 srun --immediate=30 --mem=50 -N2 -w 'c[001,003]' hostname | sort | xargs)" \
  "a job on an old and a new node"
on c001 getent hosts c003 >/dev/null || fail "c001 does not know the name of c003"

step "the same command again"
written=$(contents)
rc=0
show add --yes || rc=$?
expect_equal 0 "$rc" "exit code"
expect_equal "$written" "$(contents)" "the inventory"
expect_contains "$SAID" "c003: in the inventory already" "the second time"
expect_contains "$SAID" "c003: already joined" "the second time"
if grep -E '^(total|c003|login1) .* changed=[1-9]' <<<"$SAID"; then fail "the second time changed something"; fi
is_running "$job" || fail "job $job does not run any longer"

change() { muster node "$@" --site "$work/site" --inventory "$work/inventory"; }  # VERB NODE ARGS…
inventory_lacks_c003() { [[ $(muster inventory show) == *c002* && $(muster inventory show) != *c003* ]]; }
uuid_of_c003() { muster node show c003 | sed -n 's/^uuid *//p'; }

step "another machine under the name"
written=$(contents)
uuid=$(uuid_of_c003)
rc=0
show change replace c003 --yes || rc=$?
expect_equal 0 "$rc" "exit code"
expect_contains "$SAID" "c003: drained, being replaced" "the drain"
expect_contains "$SAID" "c003: the membership of the earlier machine has ended" "the end of the earlier one"
expect_contains "$SAID" "c003: replaced" "the end"
expect_contains "$SAID" "running job $job: still running" "the proof"
[[ $(uuid_of_c003) != "$uuid" ]] || fail "the machine is still $uuid"
expect_contains "$(muster node show c003)" "in service" "c003"
expect_equal "$written" "$(contents)" "the inventory"
wait_for 20 "c003 idle" nodes_idle c002 c003
nobody_else_noticed

step "refused: what the rest needs, and another name"
for refused in 'remove login1 --yes' 'remove c[001-003] --yes' 'replace login1 --yes'; do
  # shellcheck disable=SC2086  # words
  if show change $refused; then fail "done: $refused"; fi
done
expect_equal "$written" "$(contents)" "the inventory after refusals"
rc=0
show muster node rename c003 c004 || rc=$?
expect_equal 2 "$rc" "exit code of a rename"
expect_contains "$SAID" "muster node add c004" "what to do instead"

step "a removal that is given up leaves the node drained, and its job alone"
on c003 rm -f /var/tmp/go
last=$(on login1 sbatch --parsable --chdir=/ --output=/dev/null --mem=50 --time=30 -w c003 \
  --wrap 'until [ -e /var/tmp/go ]; do sleep 0.2; done')
wait_for 20 "job $last runs" is_running "$last"
rc=0
show change remove c003 --yes --drain-timeout 1s || rc=$?
expect_equal 3 "$rc" "exit code"
expect_contains "$SAID" "c003: waits for job $last (root, wrap), which ends in at most" "what it waits for"
expect_contains "$SAID" "c003 stays drained" "how to go on"
is_drained_for c003 "being removed" || fail "c003 is not drained"
is_running "$last" || fail "job $last does not run any longer"
expect_equal "$written" "$(contents)" "the inventory"

step "killed when the inventory has changed"
set -m
change remove c003 --yes >"$work/killed.log" 2>&1 &
killed=$!
set +m
wait_for 60 "the wait for job $last" grep -q "waits for job $last" "$work/killed.log"
on c003 touch /var/tmp/go
wait_for 60 "the inventory without c003" inventory_lacks_c003
kill -KILL -- "-$killed"
wait "$killed" 2>/dev/null || true
cat "$work/killed.log"
expect_contains "$(<"$work/killed.log")" "c003: drained, being removed" "the first part"
step "the same command continues"
rc=0
show change remove c003 --yes || rc=$?
expect_equal 0 "$rc" "exit code"
expect_contains "$SAID" "running job $job: still running" "the proof"
expect_contains "$SAID" "c003: removed" "the end"
[[ -z $(on login1 squeue -h -j "$last" -o %T 2>/dev/null) ]] || fail "job $last was not waited for"
# But for quotes that a list of several nodes has needed.
diff <(cat "$work/without_c003"/*) <(sed 's/"c002"/c002/' "$work/inventory"/*) ||
  fail "the inventory is not what it was without c003"
[[ $(muster node list) != *c003* ]] || fail "c003 is still a node"
[[ $(on login1 sinfo -h -N -o %N) != *c003* ]] || fail "Slurm still has c003"
if on c001 getent hosts c003 >/dev/null; then fail "c001 still knows the name of c003"; fi
expect_contains "$(muster validate history c003)" "acceptance" "what is left to read of c003"
expect_contains "$(muster audit list)" "node.remove" "the audit log"
nobody_else_noticed
if show change remove c003 --yes; then fail "c003 was removed twice"; fi
expect_contains "$SAID" "not enrolled" "the second time"

step "the inventory of the controller, in an empty folder"
muster inventory pull "$work/pulled" >/dev/null
diff -r "$work/inventory" "$work/pulled" || fail "the inventory was pulled otherwise"
echo '# mine' >>"$work/pulled/groups.yaml"
if muster inventory pull "$work/pulled" 2>/dev/null; then fail "a file that differs was replaced"; fi
muster inventory pull "$work/pulled" --force >/dev/null
diff -r "$work/inventory" "$work/pulled" || fail "--force did not replace the file"
echo PASSED
