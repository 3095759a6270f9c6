# A node: an overlay over the base image, kept running by node-supervisor.
# shellcheck shell=bash

# Writes what makes a node itself: name, address, switch, keys, peers, package proxy.
node_prepare() {  # NODE BRIDGE
  local node=$1 dir=$LAB_DIR/nodes/$1 upper address
  upper=$dir/upper
  address=$(lab_address "$node")
  mkdir -p "$dir"/{upper,work,merged} "$upper"/etc/{systemd/network,ssh,apt/apt.conf.d} "$upper/root"
  chmod 755 "$upper"
  echo "$address" >"$dir/address"
  echo up >"$dir/link"
  echo "$2" >"$dir/switch"

  echo "$node" >"$upper/etc/hostname"
  cp "$LAB_DIR/hosts" "$upper/etc/hosts"
  systemd-id128 new >"$upper/etc/machine-id"
  cat >"$upper/etc/systemd/network/10-host0.network" <<EOF
[Match]
Name=host0

[Network]
Address=$address/24
LinkLocalAddressing=no
IPv6AcceptRA=no
EOF
  # apt-cacher-ng closes connections, and answers with an error when two ask for a stale list in the
  # same second; apt 2.6 waits for ever when it means to ask again after a delay. The image is without
  # the descriptions of packages, half of all lists, which each node would fetch, unpack and index.
  cat >"$upper/etc/apt/apt.conf.d/00proxy" <<EOF
Acquire::http::Proxy "$(lab_proxy_url)";
Acquire::http::Pipeline-Depth "0";
Acquire::Retries::Delay "false";
Acquire::Languages "none";
EOF
  ssh_install_keys "$node" "$upper"
}

lab_proxy_url() { echo "http://$(lab_address host):3142"; }

node_start() {  # NODE
  local dir=$LAB_DIR/nodes/$1
  process_pid "$dir/supervisor.pid" >/dev/null && return 0
  # The supervisor's mount namespace is its own: the overlay goes when it goes.
  # "slave" lets `ip netns delete` on the host reach into it.
  setsid unshare --mount --propagation slave \
    "$LAB_SOURCE/node-supervisor" "$LAB_NAME" "$1" "$(<"$LAB_DIR/image")" \
    </dev/null >>"$dir/console.log" 2>&1 7>&- &
  process_record "$dir/supervisor.pid" $!
}

# Pulls the plug.
node_stop() {  # NODE
  local dir=$LAB_DIR/nodes/$1 pid
  process_stop "$dir/supervisor.pid"
  # The supervisor ends its nspawn; these lines are for one that was killed.
  process_stop "$dir/nspawn.pid"
  while read -r pid; do
    kill -KILL "$pid" 2>/dev/null || true
  done < <(find /sys/fs/cgroup/systemd/muster-lab/"$LAB_NAME/$1" -name cgroup.procs \
             -exec cat {} + 2>/dev/null)
  cgroup_remove "$1"
}

# A cgroup of the node's own in every hierarchy; without it the nodes' systemds
# would share "system.slice" and its counters.
cgroup_parents() {
  local dir
  for dir in /sys/fs/cgroup/*/; do
    [[ -e $dir/cgroup.procs && ! -L ${dir%/} ]] && echo "${dir%/}/muster-lab/$LAB_NAME"
  done
  if [[ -e /sys/fs/cgroup/cgroup.procs ]]; then echo "/sys/fs/cgroup/muster-lab/$LAB_NAME"; fi
}

# The lab's share of the processors beside other labs. A hierarchy of version 2 counts processors for a
# folder once each folder above it asks for that.
cgroup_weigh() {  # PARENT WEIGHT
  local parent=$1 above
  if [[ -e $parent/cpu.shares ]]; then
    echo $((1024 * $2)) >"$parent/cpu.shares"
  elif [[ -e $parent/cgroup.subtree_control ]]; then
    for above in "${parent%/*/*}" "${parent%/*}"; do
      (echo +cpu >"$above/cgroup.subtree_control") 2>/dev/null || true
    done
    if [[ -e $parent/cpu.weight ]]; then echo $((100 * $2)) >"$parent/cpu.weight"; fi
  fi
}

cgroup_remove() {  # NODE
  local parent i
  for parent in $(cgroup_parents); do
    for ((i = 0; i < 50; i++)); do
      [[ -d $parent/$1 ]] || break
      # Deepest first; a folder of dying processes is busy for a moment.
      # find's own status says nothing of rmdir's.
      find "$parent/$1" -depth -type d -exec rmdir {} \; 2>/dev/null || true
      if [[ -d $parent/$1 ]]; then sleep 0.1; fi
    done
    rmdir "$parent" "${parent%/*}" 2>/dev/null || true
  done
}

# Prints the pid, seen from here, of the node's own PID 1.
node_leader() {  # NODE
  local nspawn child children=()
  nspawn=$(process_pid "$LAB_DIR/nodes/$1/nspawn.pid") || return 1
  read -ra children <"/proc/$nspawn/task/$nspawn/children" 2>/dev/null || true
  for child in "${children[@]}"; do
    if grep -q '^NSpid:.*[[:space:]]1$' "/proc/$child/status" 2>/dev/null; then
      echo "$child"
      return 0
    fi
  done
  return 1
}

# Runs a command in a node as root, with a login's environment.
node_exec() {  # NODE CMD…
  local node=$1 leader
  shift
  leader=$(node_leader "$node") || die "$node is not running"
  nsenter -t "$leader" -a -- /usr/bin/env -i \
    HOME=/root USER=root LOGNAME=root SHELL=/bin/bash LANG=C.UTF-8 TERM="${TERM:-dumb}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /bin/sh -c 'cd /root && exec "$@"' sh "$@"
}

# Copies files into a folder of a running node. Not through upper/: an overlay
# must not be written behind its back.
# shellcheck disable=SC2016  # expanded by the node's shell
node_put() {  # NODE FOLDER FILE…
  local node=$1 folder=$2 file args=()
  shift 2
  for file in "$@"; do args+=(-C "$(realpath "$(dirname "$file")")" "$(basename "$file")"); done
  tar -c "${args[@]}" | node_exec "$node" sh -c 'mkdir -p "$1" && tar -x --no-same-owner -C "$1"' sh "$folder"
}

# From outside: what enters a node that shuts down is stopped with it, and then neither of them ends.
node_boot_id() {  # NODE
  local leader
  leader=$(node_leader "$1") || return 1
  cat "/proc/$leader/root/proc/sys/kernel/random/boot_id" 2>/dev/null
}

# Prints off, starting, running, degraded …
node_state() {  # NODE
  node_leader "$1" >/dev/null || { echo off; return; }
  (node_exec "$1" systemctl is-system-running 2>/dev/null || true) | tail -n 1
}

# Waits until systemd has settled and ssh answers.
node_wait() {  # NODE SECONDS
  local end=$((SECONDS + $2)) state=off
  while ((SECONDS < end)); do
    state=$(node_state "$1")
    if [[ $state == running || $state == degraded ]] &&
       { [[ $(<"$LAB_DIR/nodes/$1/link") == down ]] || ssh_answers "$1"; }; then
      return 0
    fi
    process_pid "$LAB_DIR/nodes/$1/supervisor.pid" >/dev/null || break
    sleep 0.3
  done
  die "$1 did not come up (systemd: ${state:-starting}); see $LAB_DIR/nodes/$1/console.log"
}
