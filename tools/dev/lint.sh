# shellcheck shell=bash

verb_format() {
  verb_deps lint
  git ls-files -z -- '*.h' '*.cc' '*.cu' '*.proto' | xargs -0 -r clang-format -i
}

# clang-tidy over the sources that build/dev compiles, shellcheck over scripts.
verb_lint() {
  local rc=0
  verb_deps lint
  _lint_shell || rc=1
  _lint_cpp "$@" || rc=1
  return "$rc"
}

_lint_shell() {
  local file scripts=()
  while IFS= read -r -d '' file; do
    # grep -I: a binary has no first line to speak of.
    if [[ $file == *.sh ]] || head -n 1 "$file" | grep -qaE '^#!/bin/(ba)?sh'; then scripts+=("$file"); fi
  done < <(git ls-files -z)
  ((${#scripts[@]} == 0)) || shellcheck "${scripts[@]}"
}

_lint_cpp() {  # [FILE…]
  cmake --preset dev >/dev/null
  if (($# == 0)); then
    mapfile -t < <(git ls-files -- '*.cc')
    set -- "${MAPFILE[@]}"
  fi
  (($# == 0)) || printf '%s\0' "$@" | xargs -0 -n 4 -P "$(nproc)" clang-tidy --quiet -p build/dev
}
