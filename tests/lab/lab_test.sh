#!/bin/bash
# The lab itself: boots, runs commands, reboots, cuts links, installs through
# the package cache, and leaves nothing.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

boot_id() { lab exec "$1" cat /proc/sys/kernel/random/boot_id; }

lab up --bare --login 1 --compute 2
expect_equal c001 "$(lab exec c001 hostname)" "a node's name"
expect_equal 3 "$(for n in login1 c001 c002; do lab exec "$n" cat /etc/machine-id; done | sort -u | wc -l)" "machine ids"
rc=0; lab exec c001 sh -c 'exit 7' || rc=$?
expect_equal 7 "$rc" "a command's exit status"
expect_equal "" "$(lab exec c001 systemctl --failed --no-legend)" "failed units"

before=$(boot_id c001)
lab exec c001 touch /etc/kept
lab reboot c001
[[ $(boot_id c001) != "$before" ]] || fail "the reboot kept the boot id"
lab exec c001 test -e /etc/kept || fail "the reboot lost a file"

before=$(boot_id c002)
lab power c002 cycle
[[ $(boot_id c002) != "$before" ]] || fail "the power cycle kept the boot id"
lab exec c002 touch /etc/kept
lab power c002 off
lab power c002 on
lab exec c002 test -e /etc/kept || fail "switching it off and on lost a file"

lab link c001 down
! lab exec login1 ping -c1 -W1 c001 >/dev/null || fail "a cut link passes packets"
lab link c001 up
lab exec login1 ping -c1 -W5 c001 >/dev/null || fail "a mended link passes nothing"

lab exec c001 ip route | grep -q default && fail "a node has a way out"
lab exec c001 apt-get install -y -qq munge >/dev/null 2>&1 || fail "no packages through the cache"

vm_host=$(cat /proc/sys/vm/swappiness)
lab exec c001 sysctl -q -w vm.swappiness=$((vm_host + 1))
expect_equal "$((vm_host + 1))" "$(lab exec c001 sysctl -n vm.swappiness)" "a node's kernel parameter"
expect_equal "$vm_host" "$(cat /proc/sys/vm/swappiness)" "the host's kernel parameter"

lab down
[[ ! -e /run/netns/muster-$LAB_TEST_NAME ]] || fail "a network namespace is left"
! ip link show "ml-$LAB_TEST_NAME" >/dev/null 2>&1 || fail "an interface is left"
! grep -q "muster-lab/$LAB_TEST_NAME/" /proc/mounts || fail "a mount is left"
[[ -z $(find /sys/fs/cgroup -maxdepth 3 -path "*/muster-lab/$LAB_TEST_NAME") ]] || fail "a cgroup is left"
! pgrep -f "node-supervisor $LAB_TEST_NAME " >/dev/null || fail "a process is left"
echo PASSED
