# shellcheck shell=bash
verb_inventory() {
  [[ -d $LAB_DIR/nodes ]] || die "no lab '$LAB_NAME'"
  cat "$(inventory_write)"
}
