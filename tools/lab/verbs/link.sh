# shellcheck shell=bash
verb_link() {
  local usage="link NODE|uplink up|down|rate=100mbit|rate=none"
  (($# == 2)) || die "$usage"
  if [[ $1 == uplink ]]; then
    [[ -e $LAB_DIR/uplink ]] || die "lab '$LAB_NAME' has one switch; bring it up with --switches 2"
  else
    lab_has_node "$1"
  fi
  case $2 in
    up|down)   ;;
    rate=none) set -- "$1" up ;;
    rate=*)    [[ $2 =~ ^rate=[0-9]+(kbit|mbit|gbit)$ ]] || die "rate: a number and kbit, mbit or gbit" ;;
    *) die "$usage" ;;
  esac
  if [[ $1 == uplink ]]; then
    echo "$2" >"$LAB_DIR/uplink"
    uplink_apply
  else
    echo "$2" >"$LAB_DIR/nodes/$1/link"
    link_apply "$1"
  fi
}
