#!/bin/bash
# Plans that are kept, reviewed and applied: they do what they say, and nothing
# at all once the nodes, the inventory or the file have moved.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly playbook=tests/testdata/lab/plan/plan.yaml
work=$(mktemp -d)
plan=$work/plan.json

# Leaves output and exit code in OUTPUT and RC.
run() {  # ARGS…
  RC=0
  OUTPUT=$(muster "$@" 2>&1) || RC=$?
  echo "$OUTPUT"
}

expect_run() {  # RC PART WHAT
  expect_equal "$1" "$RC" "$3: exit code"
  expect_contains "$OUTPUT" "$2" "$3"
}

expect_untouched() {  # WHAT
  ! lab exec c001 test -e /etc/plan-test || fail "$1: something was applied"
}

start_cluster 2
join 'c[001-002]'

step "plan: equal nodes are folded, the file holds what it says"
run plan "$playbook" --diff -o "$plan"
expect_run 2 'c[001-002]  (2 nodes)' "the plan"
expect_contains "$OUTPUT" "install packages  tree" "the summary"
expect_contains "$OUTPUT" "motd: record (handler)" "handlers that would run"
expect_contains "$OUTPUT" "+greeting = hello from" "the diff of a file whose folder is still to be made"
expect_contains "$OUTPUT" "2 nodes to change, 0 as they should be" "the count"
expect_untouched "plan"

step "edited: refused"
sed 's|/etc/plan-test/note|/etc/plan-test/nota|' "$plan" >"$work/edited.json"
run apply "$work/edited.json" --yes
expect_run 1 "was changed since it was written" "an edited file"
expect_untouched "an edited file"

step "explain"
run explain var greeting -n c001 -p "$playbook"
expect_run 0 'hello from {{ cluster }}' "explain var"
expect_contains "$OUTPUT" "role defaults of motd, plan/roles/motd/defaults/main.yaml:1" "where it comes from"
run explain step motd/key -n c001 -p "$playbook"
expect_run 0 "[secret plan_test_key]" "explain step"

step "apply the plan: it does that"
run apply "$plan" --yes
expect_run 0 "checking that the plan still holds" "applying the plan"
for node in c001 c002; do
  expect_equal "second play" "$(lab exec "$node" cat /etc/plan-test/note)" "$node's note"
  expect_equal "run" "$(lab exec "$node" cat /var/tmp/plan-test-handler)" "$node's handler"
  lab exec "$node" dpkg -s tree >/dev/null || fail "$node has no tree"
done
run plan "$playbook"
expect_run 0 "0 nodes to change, 2 as they should be" "a second plan"
run apply "$plan" --yes
expect_run 1 "planned state: absent" "the plan that was applied already"

step "drift after the plan: refused and named"
run plan "$playbook" --diff -e greeting=moin -o "$plan"
expect_run 2 "write files" "a plan of one file"
expect_contains "$OUTPUT" "+greeting = moin" "the diff"
lab exec c002 rm /etc/plan-test/note
run apply "$plan" --yes
expect_run 1 "c002: tasks: note: planned unchanged, now" "a node that drifted"
expect_contains "$OUTPUT" "nothing was applied" "a node that drifted"
expect_equal "greeting = hello from" "$(lab exec c001 cut -d' ' -f1-4 /etc/plan-test/settings)" "c001's file"
run apply "$plan" --yes -l c001
expect_run 0 "c001: changed motd: settings" "the plan on the node that did not drift"

step "another inventory: refused"
cp -r "$(lab_folder)/inventory" "$work/inventory"
echo 'vars: {plan_test: 1}' >"$work/inventory/zz.yaml"
muster inventory apply "$work/inventory" >/dev/null || fail "inventory"
run apply "$plan" --yes
expect_run 1 "of the inventory, which is now at" "another revision of the inventory"

step "a node that is away is left out of the plan, and of its apply"
lab exec c002 systemctl stop muster-agent
run plan "$playbook" -e greeting=away -o "$plan"
expect_run 4 "c002  unreachable, not planned" "a plan with a node away"
lab exec c002 systemctl start muster-agent
wait_for 20 "c002" sh -c "./dev lab muster --name '$LAB_TEST_NAME' node list c002 | grep -q ' yes '"
run apply "$plan" --yes
expect_run 0 "c001: changed motd: settings" "applying it"
expect_equal "greeting = hello" "$(lab exec c002 cut -d' ' -f1-3 /etc/plan-test/settings)" "c002's file"

step "failures are told once, and in full afterwards"
run apply tests/testdata/lab/plan/fails.yaml --yes
expect_equal 3 "$RC" "a failing step"
expect_equal 2 "$(grep -c '^c00[12]: failed  tasks: fails' <<<"$OUTPUT")" "lines of failure"
run run show "$(muster -o json run list | read_json 'print(value["runs"][0]["run_id"])')" --failed
expect_run 0 "c[001-002]: failed  tasks: fails" "folded failures"
run apply "$playbook" --yse
expect_run 1 "did you mean '--yes'?" "a mistyped option"
rm -r "$work"
echo PASSED
