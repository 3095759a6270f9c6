# The package cache: one apt-cacher-ng of our own for all labs, listening on
# loopback only, and in each lab a forwarder from the lab's address to it.
# It starts with the first lab and ends with the last; what it fetched stays.
# shellcheck shell=bash

LAB_PROXY_PORT=${MUSTER_LAB_PROXY_PORT:-3141}   # not 3142: that is the system's own
# shellcheck disable=SC2034
LAB_PROXY_URL=http://127.0.0.1:$LAB_PROXY_PORT

_cache_conf() {
  # No Remap-debrep: with it the main archive's index files fail to load.
  cat <<EOF
CacheDir: $LAB_APT_CACHE
LogDir: $LAB_PROXY_STATE/log
SupportDir: /usr/lib/apt-cacher-ng
PidFile: $LAB_PROXY_STATE/acng.own.pid
SocketPath: $LAB_PROXY_STATE/acng.socket
BindAddress: 127.0.0.1
Port: $LAB_PROXY_PORT
ForeGround: 1
ReportPage:
ExThreshold: 365
VerboseLog: 0
EOF
}

_cache_start() {
  local i
  process_pid "$LAB_PROXY_STATE/pid" >/dev/null && return 0
  if (: <"/dev/tcp/127.0.0.1/$LAB_PROXY_PORT") 2>/dev/null; then
    die "port $LAB_PROXY_PORT is taken; set MUSTER_LAB_PROXY_PORT"
  fi
  mkdir -p "$LAB_PROXY_STATE/conf" "$LAB_PROXY_STATE/log" "$LAB_APT_CACHE"
  _cache_conf >"$LAB_PROXY_STATE/conf/acng.conf"
  chown -R apt-cacher-ng: "$LAB_PROXY_STATE" "$LAB_APT_CACHE"
  setsid setpriv --reuid apt-cacher-ng --regid apt-cacher-ng --init-groups \
    /usr/sbin/apt-cacher-ng -c "$LAB_PROXY_STATE/conf" \
    </dev/null >"$LAB_PROXY_STATE/log/out" 2>&1 9>&- 7>&- &
  process_record "$LAB_PROXY_STATE/pid" $!
  for ((i = 0; i < 100; i++)); do
    (: <"/dev/tcp/127.0.0.1/$LAB_PROXY_PORT") 2>/dev/null && return 0
    sleep 0.1
  done
  die "the package cache did not start; see $LAB_PROXY_STATE/log/out"
}

# A lab holds the cache for as long as its folder has a subnet.
_cache_stop_if_unused() {
  compgen -G "$LAB_STATE_ROOT/*/subnet" >/dev/null && return 0
  process_stop "$LAB_PROXY_STATE/pid"
  rm -rf "$LAB_PROXY_STATE"
}

cache_start()          { with_lock _cache_start; }
cache_stop_if_unused() { with_lock _cache_stop_if_unused; }

# systemd-socket-proxyd carries bytes and nothing else; it takes its listening
# socket from systemd-socket-activate, so neither needs systemd as PID 1.
cache_forward_start() {
  setsid systemd-socket-activate --listen "$(lab_address host):3142" \
    /lib/systemd/systemd-socket-proxyd "127.0.0.1:$LAB_PROXY_PORT" \
    </dev/null >"$LAB_DIR/forwarder.log" 2>&1 7>&- &
  process_record "$LAB_DIR/forwarder.pid" $!
}

cache_forward_stop() { process_stop "$LAB_DIR/forwarder.pid"; }
