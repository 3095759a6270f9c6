# shellcheck shell=bash
verb_link() {
  (($# == 2)) || die "link NODE up|down|rate=100mbit|rate=none"
  lab_has_node "$1"
  case $2 in
    up|down)   ;;
    rate=none) set -- "$1" up ;;
    rate=*)    [[ $2 =~ ^rate=[0-9]+(kbit|mbit|gbit)$ ]] || die "rate: a number and kbit, mbit or gbit" ;;
    *) die "link NODE up|down|rate=100mbit|rate=none" ;;
  esac
  echo "$2" >"$LAB_DIR/nodes/$1/link"
  link_apply "$1"
}
