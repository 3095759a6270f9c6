# The nodes' disks: what nodes write lies in memory where there is enough of it. A package transaction
# makes and removes thousands of small files, which takes a host's ext4 three times as long of a
# processor, and far longer where its disk is busy. MUSTER_LAB_DISKS=memory or disk decides otherwise.
# shellcheck shell=bash

LAB_DISKS=${MUSTER_LAB_DISKS:-auto}
readonly LAB_DISKS_GIB=10   # what must be free for a lab in memory: the largest takes half of it

disks_mount() {
  mkdir -p "$LAB_DIR/nodes"
  case $LAB_DISKS in
    disk) ;;
    memory) _disks_in_memory || die "MUSTER_LAB_DISKS=memory: no memory can be mounted that takes direct I/O" ;;
    auto) if _disks_fit; then _disks_in_memory || say "the nodes' disks are on the host's"; fi ;;
    *) die "MUSTER_LAB_DISKS='$LAB_DISKS': expected memory, disk or auto" ;;
  esac
}

# Checks of disks bypass the page cache, which kernels before 6.6 do not allow in memory.
_disks_in_memory() {
  local nodes=$LAB_DIR/nodes
  mount -t tmpfs -o mode=755,size=40% tmpfs "$nodes" || return 1
  dd if=/dev/zero of="$nodes/direct" bs=4096 count=1 oflag=direct status=none || { umount "$nodes"; return 1; }
  rm "$nodes/direct"
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
