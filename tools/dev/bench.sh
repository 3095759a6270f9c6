# shellcheck shell=bash

# Builds what is measured and measures it; bench/bench.py --help. Only the part `compile` works
# without root. The part `build` measures a clone, and needs nothing that is built here.
verb_bench() {
  case " $* " in
    *" --help "*|*" -h "*|" build "|" build --ci "|" --ci build ") ;;
    *)
      verb_deps bench
      verb_build release
      cmake --build --preset release --target benchmarks ;;
  esac
  python3 -B bench/bench.py "$@"
}
