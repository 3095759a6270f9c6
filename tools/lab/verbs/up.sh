# shellcheck shell=bash
verb_up() {
  local login=1 compute=3 switches=1 suite=bookworm bare= gate=on gpus=0 image=bare weight=1 metal=0 firmware=uefi bmcs=
  while (($#)); do
    case $1 in
      --login)   login=${2?--login N}; shift 2 ;;
      --compute) compute=${2?--compute N}; shift 2 ;;
      --switches) switches=${2?--switches N}; shift 2 ;;
      --suite)   suite=${2?--suite NAME}; shift 2 ;;
      --bare)    bare=yes; shift ;;
      --prepared) image=prepared; shift ;;
      --gate)    gate=${2?--gate on or off}; shift 2 ;;
      --gpus)    gpus=${2?--gpus N}; shift 2 ;;
      --weight)  weight=${2?--weight N}; shift 2 ;;
      --metal)   metal=${2?--metal N}; shift 2 ;;
      --firmware) firmware=${2?--firmware NAME}; shift 2 ;;
      --bmcs)    bmcs=yes; shift ;;
      *) die "up: unknown argument '$1'" ;;
    esac
  done
  [[ $login =~ ^[1-9]$ ]] || die "--login: 1 to $LAB_MAX_LOGIN"
  [[ $compute =~ ^(0|[1-9][0-9]{0,2})$ ]] || die "--compute: expected a number"
  ((compute <= LAB_MAX_COMPUTE)) || die "--compute: at most $LAB_MAX_COMPUTE"
  [[ $switches =~ ^[12]$ ]] || die "--switches: 1 or 2"
  [[ $gate == on || $gate == off ]] || die "--gate: on or off"
  [[ $gpus =~ ^[0-8]$ ]] || die "--gpus: 0 to 8"
  [[ $weight =~ ^[1-9][0-9]?$ ]] || die "--weight: 1 to 99"
  [[ $metal =~ ^[0-9]$ ]] || die "--metal: 0 to $LAB_MAX_MACHINES"
  [[ $firmware =~ ^(uefi|secure|bios)$ ]] || die "--firmware: uefi, secure or bios"
  [[ ! $bmcs ]] || ((compute <= LAB_MAX_COMPUTE_BMCS)) || die "--bmcs: with at most $LAB_MAX_COMPUTE_BMCS compute nodes"
  ((metal == 0)) || machines_check
  image_check_suite "$suite"
  ((EUID == 0)) || die "needs root: it makes namespaces, mounts and cgroups"
  lab_claim
  up_refuse_other_checkout
  local start=$EPOCHREALTIME

  lab_remove   # leftovers of a lab of this name, however it ended
  # From here on, whatever stops us takes the lab down with it.
  LAB_UNDO=yes
  subnet_take
  echo "$LAB_CHECKOUT" >"$LAB_DIR/checkout"
  echo "$suite" >"$LAB_DIR/suite"
  echo "$switches" >"$LAB_DIR/switches"
  echo "$weight" >"$LAB_DIR/weight"
  disks_mount
  cache_start
  image_ensure "$suite" "$image" >"$LAB_DIR/image"

  local node nodes machines
  mapfile -t nodes < <(node_names "$login" "$compute")
  mapfile -t machines < <(machine_names "$metal")
  up_write_hosts "${nodes[@]}" "${machines[@]}"
  ssh_prepare "${nodes[@]}"
  network_up
  for node in "${machines[@]}"; do machine_prepare "$node" "$firmware"; done
  cache_forward_start
  up_allow_inotify
  say "booting ${#nodes[@]} $suite nodes in $(lab_address host)/24"
  for node in "${nodes[@]}"; do
    node_prepare "$node" "$(network_bridge_of "$node" "$compute")"
    node_start "$node"
  done
  for node in "${nodes[@]}"; do node_wait "$node" 180; done
  if ((gpus)); then
    for node in "${nodes[@]}"; do [[ $node == login* ]] || gpus_install "$node" "$gpus"; done
  fi
  for node in $([[ ! $bmcs ]] || node_names 0 "$compute") "${machines[@]}"; do bmc_start "$node"; done
  inventory_write >/dev/null
  say "nodes up in $(seconds_since "$start") s"
  [[ $bare ]] || controller_install "$gate"
  # shellcheck disable=SC2034
  LAB_UNDO=
  say "lab '$LAB_NAME' is up in $(seconds_since "$start") s; try: ./dev lab status --name $LAB_NAME"
}

# Each node's systemd, udevd and journald take a dozen inotify instances of root's, and without them
# a node hangs at boot. Debian allows 128.
up_allow_inotify() {
  local limit=/proc/sys/fs/inotify/max_user_instances wanted=2048
  (($(<"$limit") >= wanted)) || echo "$wanted" >"$limit" ||
    say "$limit stays at $(<"$limit"): with a dozen nodes or more they may hang at boot"
}

up_refuse_other_checkout() {
  local owner
  owner=$(cat "$LAB_DIR/checkout" 2>/dev/null) || return 0
  [[ $owner != "$LAB_CHECKOUT" ]] || return 0
  for_each_running_node : | grep -q . || return 0
  die "a lab '$LAB_NAME' of $owner is running; choose another --name, or remove that one first"
}

# Every name, as a site's DNS would give it.
up_write_hosts() {  # NODE…
  local node
  {
    echo "127.0.0.1 localhost"
    echo "::1 localhost ip6-localhost ip6-loopback"
    for node in "$@"; do echo "$(lab_address "$node") $node"; done
  } >"$LAB_DIR/hosts"
}
