#!/bin/bash
# A playbook that ends with a suite: one apply takes a bare node through the run and the validation,
# a second one leaves it alone, a failed one is told, and neither Ctrl-C nor a restart of the
# controller between the two loses anything.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

work=$(mktemp -d)
cp -r tests/testdata/lab/ending/playbooks "$work/"
readonly site=$work/playbooks/site.yaml suite=$work/playbooks/suites/short.yaml
readonly compute=c001

# A field of the only validation that the run ended with.
ending() {  # RUN FIELD
  muster -o json run show "$1" | read_json '
[ending] = value["run"]["validations"]
print(ending[sys.argv[1]])' "$2"
}
ending_is() { [[ $(ending "$1" state) == "$2" ]]; }  # RUN STATE
outcome() { muster -o json validate show "$1" | read_json 'print(value["nodes"][0]["outcome"])'; }
validations() { muster -o json validate list | read_json 'print(len(value["validations"]))'; }
validation_is() {  # ID STATE
  [[ $(muster -o json validate show "$1" | read_json 'print(value["state"])') == "$2" ]]
}
# What a node must never have passed as before.
forget_pass() { sed -i 's/{paths: [^}]*}/{paths: \/nothing-is-mounted-here}/' "$suite"; }
mend() { sed -i 's/{paths: [^}]*}/{paths: \/}/' "$suite"; }

start_cluster 1
join 'login1,c001'

step "a check says who would be validated"
apply_and_validate "$site" --check
expect_applied 0 "check"
expect_contains "$APPLY_OUTPUT" "validation: suite short tests $compute" "the check"
expect_equal 0 "$(validations)" "validations after a check"

step "one apply: the run, then the validation"
apply_and_validate "$site"
expect_applied 0 "apply"
expect_contains "$APPLY_OUTPUT" "$compute: changed tasks: a mark" "the run"
expect_equal started "$(ending "$APPLY_RUN" state)" "what the run ended with"
id=$(ending "$APPLY_RUN" validation_id)
expect_contains "$APPLY_OUTPUT" "validation $id: suite short of $compute" "the validation"
expect_equal pass "$(outcome "$id")" "outcome"
expect_contains "$(muster run show "$APPLY_RUN")" "$id" "muster run show"

step "again: nothing to validate"
apply_and_validate "$site"
expect_applied 0 "second apply"
expect_contains "$APPLY_OUTPUT" "nothing to validate: $compute already passed" "second apply"
expect_equal not_needed "$(ending "$APPLY_RUN" state)" "second apply"
expect_equal 1 "$(validations)" "validations"
says -F "then nothing to validate: $compute already passed" muster plan "$site" || fail "muster plan"

step "a suite that fails: its exit code, and the pass is gone"
forget_pass
muster validate "$compute" --suite short --site "$work" && fail "the broken suite passed"
apply_and_validate "$site"
expect_applied 1 "a failed validation"
id=$(ending "$APPLY_RUN" validation_id)
expect_equal fail "$(outcome "$id")" "outcome"
expect_contains "$APPLY_OUTPUT" "/nothing-is-mounted-here" "what failed"

step "left out on request"
apply "$site"
expect_applied 0 "--skip-validation"
expect_equal "[]" "$(muster -o json run show "$APPLY_RUN" | read_json 'print(value["run"].get("validations", []))')" \
  "validations of a run without"

step "nobody watches, and the controller restarts in the middle of the validation"
mend
run=$(muster apply --yes --detach "$site")
wait_for 60 "the validation" ending_is "$run" started
id=$(ending "$run" validation_id)
lab exec login1 systemctl restart musterd
wait_for 60 "the controller" muster status
wait_for 120 "the end of $id" validation_is "$id" "done"
expect_equal pass "$(outcome "$id")" "outcome after a restart"

step "a suite that nobody could pass for good is refused before anything starts"
sed -i '/^admits/d' "$suite"
apply_and_validate "$site"
expect_applied 1 "a suite that does not admit"
expect_contains "$APPLY_OUTPUT" "does not admit nodes" "the refusal"
echo PASSED
