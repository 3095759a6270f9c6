#!/bin/bash
# Lines, kernel parameters, mounts and files: --check changes nothing and says
# exactly what an apply then does; a second one changes nothing; what is taken
# out of a whole set is undone.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly site=tests/testdata/lab/resources/site.yaml

# The steps of a run with the fields that they changed, for comparison.
changes() {  # RUN
  muster -o json run show "$1" --steps | read_json '
for row in value["results"]:
    result = row["result"]
    print(result["step_id"], result["status"].split("_")[-1].lower(),
          [(c["field"], c.get("before", ""), c.get("after", "")) for c in result.get("changes", [])])' | sort
}

# What the steps manage, and /etc around it.
tree() {
  lab exec c001 sh -c 'find /etc /srv /var/lib/muster/records -xdev | LC_ALL=C sort; \
    find /etc /srv -xdev -type f -exec sha256sum {} + | LC_ALL=C sort; \
    cat /proc/self/mountinfo | cut -d" " -f5- ; sysctl -n vm.swappiness vm.dirty_ratio kernel.panic' | sha256sum
}

value() { lab exec c001 sysctl -n "$1"; }

# --check, then an apply: nothing moved by the former, and equal changes.
expect_foreseen() {  # WHAT ARGS…
  local what=$1 before foreseen
  shift
  before=$(tree)
  apply "$site" --check "$@" >/dev/null
  expect_equal "$before" "$(tree)" "$what: the node after --check"
  foreseen=$(changes "$APPLY_RUN")
  apply "$site" "$@"
  expect_applied 0 "$what"
  expect_equal "$foreseen" "$(changes "$APPLY_RUN")" "$what: what --check foresaw"
  expect_contains "$foreseen" changed "$what"
}

start_cluster 1
join c001
panic=$(value kernel.panic)

step "first apply"
expect_foreseen "first apply" -e full=true -e size=1m
expect_equal "11 33 17" "$(value vm.swappiness) $(value vm.dirty_ratio) $(value kernel.panic)" "parameters"
for path in /srv/a-b /srv/c; do lab exec c001 mountpoint -q "$path" || fail "$path is not mounted"; done
lab exec c001 systemctl is-enabled -q 'srv-a\x2db.mount' || fail "the mount is not enabled"
apply "$site" -e full=true -e size=1m --detailed-exitcode
expect_applied 0 "the second apply"

step "drift"
lab exec c001 sh -c 'sysctl -qw vm.swappiness=50; umount /srv/c; echo x >/etc/lab.d/a; \
  echo y >/etc/lab.d/foreign; echo z >/etc/lab.d/kept; sed -i /far/d /etc/hosts'
expect_foreseen "drift" -e full=true -e size=2m
expect_contains "$(lab exec c001 findmnt -no OPTIONS /srv/a-b)" size=2048k "the remounted option"
expect_equal "a b kept" "$(lab exec c001 ls /etc/lab.d | xargs)" "the purged folder"

step "entries taken out"
expect_foreseen "entries taken out" -e full=false -e size=2m
expect_equal "$panic" "$(value kernel.panic)" "the parameter that was taken out"
! lab exec c001 mountpoint -q /srv/c || fail "/srv/c is still mounted"
! lab exec c001 test -e /etc/systemd/system/srv-c.mount || fail "its unit is still there"
lab exec c001 mountpoint -q /srv/a-b || fail "/srv/a-b went too"
expect_equal "a kept" "$(lab exec c001 ls /etc/lab.d | xargs)" "the files left"
apply "$site" -e full=false -e size=2m --detailed-exitcode
expect_applied 0 "the second apply"
echo PASSED
