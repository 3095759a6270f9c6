# shellcheck shell=bash

# What is too slow for every change, in the order in which it tells most: each part runs, also when
# one before it failed. FUZZ_SECONDS (default 60) is what each fuzz target gets.
verb_nightly() {
  local part failed=() parts=("$@")
  ((${#parts[@]})) || parts=(asan tsan clang fuzz crash lab gpu_abi web boot)
  verb_deps fuzz
  for part in "${parts[@]}"; do
    declare -F "_nightly_$part" >/dev/null || die "unknown part '$part'; choose from: asan tsan clang fuzz crash lab gpu_abi web boot"
  done
  for part in "${parts[@]}"; do
    say "nightly: $part"
    # A process of its own: `set -e` holds in it, and its `die` ends only the part.
    "$DEV_CHECKOUT/dev" _nightly "$part" || failed+=("$part")
  done
  ((${#failed[@]} == 0)) || die "nightly: failed: ${failed[*]}"
  say "nightly: all clean: ${parts[*]}"
}

verb__nightly() { "_nightly_$1"; }

_nightly_asan() { _nightly_preset asan; }
_nightly_tsan() { _nightly_preset tsan; }

_nightly_preset() {
  cmake --preset "$1"
  cmake --build --preset "$1"
  ctest --preset "$1" --parallel "$(nproc)"
}

# The compiler is the test: -Wthread-safety -Werror.
_nightly_clang() {
  cmake --preset clang
  cmake --build --preset clang
}

_nightly_fuzz() { verb_fuzz all "${FUZZ_SECONDS:-60}"; }

# All the moments at which the lab's crash tests may cut something off.
_nightly_crash() {
  verb_build release
  MUSTER_CRASH_MOMENTS=20 ctest --preset release --build-config nightly -R '^crash_.*_test$'
}

# Labs that take minutes, most of which other labs spend too.
_nightly_lab() {
  verb_build release
  ctest --preset release --build-config nightly --label-regex nightly --exclude-regex '^crash_'
}

# NVIDIA's headers, libraries and assembler, as packages of Debian that are unpacked and not installed.
# 77: this machine cannot have them.
_nightly_gpu_abi() {
  local status=0
  cmake --preset release
  cmake --build --preset release --target burnin_ptx
  tools/check_gpu_abi.py --fetch || status=$?
  ((status == 77)) && return 0
  ((status == 0)) || return "$status"
  tools/check_gpu_abi.py --mutate all
}

# The web page in a real browser, whose packages nothing else needs.
_nightly_web() {
  verb_deps web
  cmake --preset release
  cmake --build --preset release --target web_cluster
  tests/web/page_test.py --shots build/web-shots
}

# An emulated machine, whose emulator nothing else needs.
_nightly_boot() {
  verb_deps boot
  verb_build release
  cmake --build --preset release --target lab_programs
  tests/lab/image_boot.sh
  tests/lab/image_disk.sh
  tests/lab/image_join.sh
  tests/lab/image_signed.sh
  tests/lab/image_signed_disk.sh
  # Without Ubuntu's keyring it is skipped.
  tests/lab/image_ubuntu.sh || (($? == 77))
}
