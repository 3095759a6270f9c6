# Addresses. Each lab has a /24 of 10.77.0.0/16, taken with the lock held:
#   .1 the host   .2 the lab's own namespace   .3… BMCs of compute nodes   .11… login   .21… compute
#   .221… machines that the inventory does not have   .231… machines   .241… their BMCs
# shellcheck shell=bash disable=SC2034

LAB_MAX_LOGIN=9
LAB_MAX_COMPUTE=200
LAB_MAX_COMPUTE_BMCS=8
LAB_MAX_MACHINES=9

_subnet_take() {
  local n taken=" "
  local file
  for file in "$LAB_STATE_ROOT"/*/subnet; do
    [[ -e $file ]] && taken+="$(<"$file") "
  done
  for ((n = 1; n < 255; n++)); do
    [[ $taken == *" $n "* ]] && continue
    mkdir -p "$LAB_DIR"
    echo "$n" >"$LAB_DIR/subnet"
    return 0
  done
  die "all 254 lab subnets are taken"
}

subnet_take() { with_lock _subnet_take; }

# The address of `host`, `lab` or a node.
lab_address() {  # WHO
  local net last
  net=10.77.$(<"$LAB_DIR/subnet")
  case $1 in
    host)   last=1 ;;
    lab)    last=2 ;;
    login*) last=$((10 + ${1#login})) ;;
    c*)     last=$((20 + 10#${1#c})) ;;
    d*)     last=$((230 + 10#${1#d})) ;;
    *)      die "no such node: $1" ;;
  esac
  echo "$net.$last"
}

# The address of a node's BMC.
lab_bmc_address() {  # NODE
  local last
  case $1 in
    c*) last=$((2 + 10#${1#c})) ;;
    d*) last=$((240 + 10#${1#d})) ;;
  esac
  echo "10.77.$(<"$LAB_DIR/subnet").$last"
}

# What machines get by DHCP that the inventory does not have.
lab_dhcp_range() {
  local net
  net=10.77.$(<"$LAB_DIR/subnet")
  echo "$net.221,$net.230,255.255.255.0"
}

# Names of N machines, one a line.
machine_names() {  # N
  local i
  for ((i = 1; i <= $1; i++)); do printf 'd%03d\n' "$i"; done
}

lab_machines() {
  local dir
  for dir in "$LAB_DIR"/machines/*/; do
    [[ ! -d $dir ]] || basename "$dir"
  done
}

lab_has_machine_named() { [[ -d $LAB_DIR/machines/${1:?} ]]; }  # NAME
lab_has_machine() {  # NAME
  lab_has_machine_named "$1" ||
    die "lab '$LAB_NAME' has no machine '$1'; $(lab_machines | paste -sd, | sed 's/^$/bring it up with --metal N/; s/^d/it has: d/')"
}

# Names of LOGIN login nodes and COMPUTE compute nodes, one a line.
node_names() {  # LOGIN COMPUTE
  local i
  for ((i = 1; i <= $1; i++)); do echo "login$i"; done
  for ((i = 1; i <= $2; i++)); do printf 'c%03d\n' "$i"; done
}

# The nodes that this lab has, login nodes first.
lab_nodes() {
  local dir
  for dir in "$LAB_DIR"/nodes/login* "$LAB_DIR"/nodes/c*; do
    [[ -d $dir ]] && echo "${dir##*/}"
  done
}

lab_has_node() { [[ -d $LAB_DIR/nodes/$1 ]] || die "lab '$LAB_NAME' has no node '$1'; it has: $(lab_nodes | xargs)"; }
