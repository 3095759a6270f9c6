# The nodes' disks: what nodes write lies in memory where there is enough of it. A package transaction
# makes and removes thousands of small files, which takes a host's ext4 three times as long of a
# processor, and far longer where its disk is busy. MUSTER_LAB_DISKS=memory or disk decides otherwise.
# shellcheck shell=bash

LAB_DISKS=${MUSTER_LAB_DISKS:-auto}
readonly LAB_DISKS_GIB=10   # what must be free for a lab in memory: the largest takes half of it

disks_mount() {
  local nodes=$LAB_DIR/nodes
  mkdir -p "$nodes"
  [[ $LAB_DISKS != disk ]] || return 0
  [[ $LAB_DISKS == memory ]] || _disks_fit || return 0
  mount -t tmpfs -o mode=755,size=40% tmpfs "$nodes" 2>/dev/null || return 0
  # Checks of disks pass the page cache by, which kernels before 6.6 do not allow there.
  if ! dd if=/dev/zero of="$nodes/direct" bs=4096 count=1 oflag=direct 2>/dev/null; then umount "$nodes"; fi
  rm -f "$nodes/direct"
}

_disks_fit() {
  local kib
  kib=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
  ((kib >= LAB_DISKS_GIB << 20))
}

# Lazily: a process of a node may still be ending.
disks_unmount() {
  if mountpoint --quiet "$LAB_DIR/nodes"; then umount --lazy "$LAB_DIR/nodes"; fi
}
