# Background processes, remembered by pid and start time. A pid alone may have
# been given to a stranger since, and a lab must never signal a stranger.
# shellcheck shell=bash

_start_time() {  # PID → the 22nd field of its stat; the 2nd may contain spaces
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  stat=${stat##*) }
  # shellcheck disable=SC2086
  set -- $stat
  echo "${20}"
}

process_record() {  # FILE PID
  local started
  started=$(_start_time "$2") || return 1
  echo "$2 $started" >"$1"
}

# Prints the pid that FILE remembers, if that very process still runs.
process_pid() {  # FILE
  local pid started state
  [[ -s $1 ]] || return 1
  read -r pid started <"$1" || return 1
  [[ $(_start_time "$pid") == "$started" ]] || return 1
  state=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$pid/status" 2>/dev/null)
  [[ $state != Z ]] || return 1
  echo "$pid"
}

process_stop() {  # FILE: TERM, five seconds, KILL
  local pid i
  if pid=$(process_pid "$1"); then
    kill -TERM "$pid" 2>/dev/null || true
    for ((i = 0; i < 50; i++)); do
      process_pid "$1" >/dev/null || break
      sleep 0.1
    done
    if pid=$(process_pid "$1"); then kill -KILL "$pid" 2>/dev/null || true; fi
  fi
  rm -f "$1"
}
