# shellcheck shell=bash
verb_site() {
  (($# == 1)) || die "site FOLDER"
  [[ ! -e $1 ]] || die "$1 already exists"
  site_copy "$1"
}
