# shellcheck shell=bash

# Builds what is measured and measures it; bench/bench.py --help. Only the part `compile` works
# without root.
verb_bench() {
  case " $* " in
    *" --help "*|*" -h "*) ;;
    *)
      verb_deps bench
      verb_build release
      cmake --build --preset release --target benchmarks ;;
  esac
  python3 -B bench/bench.py "$@"
}
