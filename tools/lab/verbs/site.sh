# shellcheck shell=bash
verb_site() {
  (($# == 1)) || die "site FOLDER"
  [[ ! -e $1 ]] || die "$1 exists already"
  site_copy "$1"
}
