#!/bin/bash
# Forty checks of a node's health of the usual kind, as sites run them every minute: each asks a program
# and looks at what it says. Prints what fails.
check() { "${@:2}" >/dev/null 2>&1 || echo "failed: $1"; }  # NAME CMD…
at_most() { [[ $1 =~ ^[0-9]+$ ]] && (($1 <= $2)); }         # VALUE LIMIT
at_least() { [[ $1 =~ ^[0-9]+$ ]] && (($1 >= $2)); }        # VALUE LIMIT
used() { df --output=pcent "$1" | tail -1 | tr -dc 0-9; }   # MOUNT
inodes() { df --output=ipcent "$1" | tail -1 | tr -dc 0-9; }
is_mounted() { mount | awk '{print $3}' | grep -qx "$1"; }  # MOUNT
field() { awk -v key="$2" '$1 == key {print $2}' "$1"; }    # FILE KEY

for mount in / /tmp /var /run /dev/shm; do
  check "space of $mount" at_most "$(used "$mount")" 95
  check "inodes of $mount" at_most "$(inodes "$mount")" 95
done
for mount in / /proc /sys /run /dev/shm; do check "mount $mount" is_mounted "$mount"; done
for unit in slurmd munge ssh systemd-journald dbus; do check "unit $unit" systemctl is-active "$unit"; done
for process in slurmd munged sshd systemd-journal; do check "process $process" pgrep -x "$process"; done
check "failed units" at_most "$(systemctl list-units --failed --plain --no-legend | wc -l)" 0
check "memory" at_least "$(field /proc/meminfo MemTotal:)" 1000
check "free memory" at_least "$(field /proc/meminfo MemAvailable:)" 1000
check "swap" at_least "$(field /proc/meminfo SwapFree:)" 0
check "processors" at_least "$(nproc)" 1
check "load" at_most "$(cut -d. -f1 /proc/loadavg)" 1000
check "processes" at_most "$(ps -e --no-headers | wc -l)" 10000
in_state() { ps -e -o stat= | awk -v state="$1" 'index($1, state) == 1 {n++} END {print n + 0}'; }  # LETTER
check "zombies" at_most "$(in_state Z)" 100
check "stuck processes" at_most "$(in_state D)" 100
check "links" at_least "$(ip -o link show up | wc -l)" 1
check "addresses" at_least "$(ip -o -4 address | wc -l)" 1
check "route" ip route show
check "name" getent hosts localhost
check "time" date +%s
check "kernel log" sh -c 'dmesg | tail -1000 | grep -c "Hardware Error"; true'
check "users" getent passwd root
