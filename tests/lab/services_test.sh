#!/bin/bash
# What stands around Slurm: the packet filter of a node with two networks, metrics and alerts, users'
# software, the cache of packages, logs in one place, host keys, JupyterHub, a directory of users, and who
# may log in where.
set -euo pipefail
# shellcheck source=tests/lab/testing.sh
source "$(dirname "$0")/testing.sh"

readonly rules=playbooks/roles/prometheus/files/muster_rules.yml
readonly dashboards=tests/testdata/prometheus/dashboards.py
readonly rules_test=tests/testdata/prometheus/muster_rules_test.yml
work=$(mktemp -d)

# Runs a command in the network outside, which login1 reaches by ext0.
outside() { lab exec login1 ip netns exec outside "$@"; }  # CMD…
connects() {  # FROM… -- HOST PORT: within 2 s, as a packet filter drops without an answer
  local from=()
  while [[ $1 != -- ]]; do from+=("$1"); shift; done
  "${from[@]}" timeout 2 bash -c "exec 3<>/dev/tcp/$2/$3" 2>/dev/null
}
# The number of Prometheus' targets in a state, by job.
targets() {  # JOB HEALTH
  lab exec login1 curl -s 'http://127.0.0.1:9090/api/v1/targets?state=active' | read_json '
print(sum(t["health"] == sys.argv[2] and t["labels"]["job"] == sys.argv[1]
          for t in value["data"]["activeTargets"]))' "$1" "$2"
}
all_up() { [[ $(targets nodes up) == 2 && $(targets prometheus up) == 1 && $(targets muster up) == 1 ]]; }
asked() { lab exec login1 curl -s --get --data-urlencode "query=$1" http://127.0.0.1:9090/api/v1/query; }  # QUERY
value_of() { asked "$1" | read_json 'print(*(r["value"][1] for r in value["data"]["result"]))'; }  # QUERY
known() {  # the names of all metrics
  lab exec login1 curl -s http://127.0.0.1:9090/api/v1/label/__name__/values | read_json 'print("\n".join(value["data"]))' | LC_ALL=C sort
}
knows() { says -x "$1" known; }  # METRIC
pending_or_firing() { [[ $(asked "ALERTS{alertname=\"$1\"}") == *"$1"* ]]; }  # ALERT
firing() {  # ALERT: Prometheus knows the rule and it holds
  lab exec login1 curl -s 'http://127.0.0.1:9090/api/v1/alerts' | read_json '
sys.exit(not any(a["labels"]["alertname"] == sys.argv[1] for a in value["data"]["alerts"]))' "$1"
}

# What Alertmanager answers.
alertmanager_code() { lab exec login1 curl -s -o /dev/null -w '%{http_code}' "$@" http://127.0.0.1:393/api/v2/alerts; }  # ARGS OF curl…

# Logs in from this machine with the lab's key, as people do with theirs.
log_in() {  # [USER@]NODE CMD…
  timeout 20 ssh -n -F "$(lab_folder)/ssh/config" -o LogLevel=ERROR "$@"
}
is_kept_out() { ! log_in "$1" true 2>/dev/null; }  # USER@NODE
answer() { "$@" curl -s --max-time 10 --noproxy '*' -o /dev/null -w '%{http_code}' "http://$login1:3142/" || true; }  # FROM…

# A line of a node, in the file that the log host keeps of it.
log_line() { lab exec "$1" logger -t lab-log "$2"; }  # NODE TEXT
has_line() { lab exec login1 grep -q " $1 lab-log: $2\$" "/var/log/nodes/$1.log"; }  # NODE TEXT

# From node to node, as a user who has never been anywhere.
strictly() {  # FROM TO
  lab exec "$1" ssh -n -i /root/between -o BatchMode=yes -o StrictHostKeyChecking=yes \
    -o UserKnownHostsFile=/dev/null -o ConnectTimeout=5 "$2" true
}

# JupyterHub as a browser and as a program sees it; $token is ann's.
hub() {  # PATH ARGS OF curl…
  lab exec login1 curl -s --max-time 20 -H "Authorization: token ${token:-}" "http://127.0.0.1:300$1" "${@:2}"
}
hub_code() { hub "$@" -o /dev/null -w '%{http_code}'; }  # PATH ARGS OF curl…
server_answers() { [[ $(hub_code /user/ann/api/status) == 200 ]]; }
jobs_of_ann() { lab exec login1 squeue -h -u ann -o '%j %T %A'; }
no_jobs_of_ann() { [[ -z $(jobs_of_ann) ]]; }

# A user of the LDAP server on login1, which the inventory names before it is there.
known_to() { lab exec "$1" getent passwd zoe; }  # NODE
by_password() { lab exec login1 runuser -u ann -- su --command="$3" "$1" <<<"$2" 2>/dev/null; }  # USER PASSWORD CMD
is_remembered() { [[ $(by_password zoe of-zoe true) == *"cached credentials"* ]]; }

start_cluster 1 bookworm --prepared --gpus 2
mkdir "$work"/{grafana,inventory,directory}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=login1 \
  -addext subjectAltName=DNS:login1 -keyout "$work/directory/key.pem" -out "$work/directory/certificate.pem" 2>/dev/null
cp tests/testdata/lab/directory/slapd.conf "$work/directory/"
lab muster secret set sssd_bind_password --roles sssd <<<"of-reader" >/dev/null
tests/testdata/lab/grafana/make_repository.sh "$work/grafana"
tar c -C "$work" grafana/repo | lab exec login1 tar x --no-same-owner -C /srv
# login1 gets a second network, as a machine with two cables has one.
lab exec login1 bash -c '
  ip netns add outside
  ip link add ext0 type veth peer name out0 netns outside
  ip address add 192.0.2.1/24 dev ext0
  ip link set ext0 up
  ip -n outside address add 192.0.2.9/24 dev out0
  ip -n outside link set out0 up
  ip -n outside link set lo up'
cp "$(lab_folder)"/inventory/* "$work/inventory/"
cat >"$work/inventory/services.yaml" <<'YAML'
groups:
  edge:
    nodes: login1
    vars:
      external_interface: ext0
      sssd_make_homes: true
      firewall_open: [{port: 22}, {port: 8000, from: ["192.0.2.9/32"]}, {port: 8001, from: ["192.0.2.77/32"]}]
  everybody:
    nodes: "login1,c001"
    vars:
      prometheus_host: login1
      prometheus_interval: 1s
      slurm_metrics_interval: 2s
      gpu_metrics_interval: 2s
      data_science_packages: [python3-numpy]
      module_system: environment-modules
      module_paths: [/apps/modulefiles]
      cluster_interface: host0
      package_cache_host: login1
      log_host: login1
      ssh_known_hosts: true
      jupyterhub_host: login1
      jupyterhub_most_gpus: 2
      jupyterhub_memory: 512M
YAML
cat >>"$work/inventory/services.yaml" <<YAML
  people:
    nodes: "login1,c001"
    vars:
      cluster_groups: [{name: people, gid: 3000}, {name: admins, gid: 3001}]
      cluster_users:
        - {name: ann, uid: 3001, group: people, keys: ["$(<"$(lab_folder)/ssh/id_ed25519.pub")"]}
        - {name: boss, uid: 3002, group: people, groups: [admins], keys: ["$(<"$(lab_folder)/ssh/id_ed25519.pub")"]}
      login_limits: [{domain: "@people", type: hard, item: nproc, value: 4321}]
      ssh_hardening: true
      ssh_allowed_groups: [people, students]
      # Without control groups Slurm has no such step by itself; it does not follow processes then, but
      # still says who has a job.
      slurm_extra_config: ["PrologFlags=Alloc,Contain"]
      login_needs_job: true
      login_admin_groups: [admins]
  directory:
    nodes: "login1,c001"
    vars:
      sssd_uris: ["ldaps://login1"]
      sssd_base: dc=example
      sssd_bind_dn: cn=reader,dc=example
      sssd_ca_certificates: |
$(sed 's/^/        /' "$work/directory/certificate.pem")
      sssd_allowed_groups: [students]
YAML
python3 - "$work/grafana/vendor.asc" >"$work/inventory/grafana.yaml" <<'PY'
import json, sys
print(json.dumps({"vars": {"grafana_repository": {
    "uris": ["file:/srv/grafana/repo"], "suites": ["./"], "key": open(sys.argv[1]).read()}}}))
PY
muster inventory apply "$work/inventory" >/dev/null
join 'login1,c001'

step "the whole site"
apply playbooks/site.yaml
expect_applied 0 "rollout"
# shellcheck disable=SC2016  # the node's shell expands it
lab exec login1 bash -c 'for port in 8000 8001 8002; do
  systemd-run -q --unit listener-$port python3 -m http.server --bind 0.0.0.0 $port; done'
for port in 8000 8001 8002; do wait_for 10 "a listener on $port" connects lab exec c001 -- login1 "$port"; done

step "the network outside reaches what is open, the cluster everything"
wait_for 10 "ssh from outside" connects outside -- 192.0.2.1 22
wait_for 10 "a port from the network that it is open to" connects outside -- 192.0.2.1 8000
! connects outside -- 192.0.2.1 8001 || fail "a port of another network is open"
! connects outside -- 192.0.2.1 6817 || fail "slurmctld can be reached from outside"
wait_for 10 "a port from the cluster's own network" connects lab exec c001 -- login1 8001
nodes_idle c001 || wait_for 30 "c001 idle behind the filter" nodes_idle c001

step "Prometheus has its targets, and its alerts fire"
wait_for 30 "all targets up" all_up
expect_equal "$(grep -o 'alert: .*' "$rules" | sort)" \
  "$(sed -n 's/.*alertname: \([A-Za-z]*\)$/alert: \1/p' "$rules_test" | sort)" "alerts with a test"
lab exec login1 install -d /root/rules
for file in "$rules" "$rules_test"; do lab exec login1 tee "/root/rules/${file##*/}" <"$file" >/dev/null; done
lab exec login1 promtool test rules /root/rules/muster_rules_test.yml
lab exec login1 sh -c 'curl -s http://127.0.0.1:7481/metrics | promtool check metrics'
expect_equal 1 "$(value_of 'muster_node_connected{node="c001"}')" "the connection of c001's agent, in Prometheus"
! connects lab exec c001 -- login1 7481 || fail "the controller's metrics are offered to all"
printf '%s 0\n' lab_series slurm_up muster_slurm_gate_trouble muster_authority_expiry_timestamp_seconds |
  lab exec c001 tee /var/lib/muster-metrics/lab.prom >/dev/null
wait_for 20 "a series of c001's own" knows lab_series
expect_equal 1 "$(value_of slurm_up)" "slurmctld, of which a worker has said something else"
expect_equal "" "$(value_of '{__name__=~"muster_.*",__name__!~"muster_gpu_.*",job="nodes"}')" "what nodes say of Muster"
lab exec c001 rm /var/lib/muster-metrics/lab.prom
lab exec c001 systemctl stop prometheus-node-exporter
wait_for 20 "the alert of a silent node" firing NodeSilent
lab exec c001 systemctl start prometheus-node-exporter
wait_for 20 "all targets up again" all_up
expect_equal 401 "$(alertmanager_code)" "Alertmanager's answer to everybody on its machine"
expect_equal 200 "$(alertmanager_code -u "muster:$(lab exec login1 cat /etc/prometheus/muster_alertmanager_password)")" "Alertmanager's answer to Prometheus"
# Nothing but this machine reaches what asks nobody who they are.
! connects lab exec c001 -- login1 9090 || fail "Prometheus listens for all"

step "the dashboards are shown, and Prometheus has what they ask for"
"$dashboards" check playbooks/roles/grafana/files/*.json
"$dashboards" rules playbooks/roles/grafana/files/*.json | lab exec login1 tee /root/rules/dashboards.yml >/dev/null
lab exec login1 promtool check rules /root/rules/dashboards.yml
for _ in runs waits; do
  lab exec login1 sbatch --chdir=/ --output=/dev/null --mem=16 -w c001 --gres=gpu:2 --wrap "sleep 300" >/dev/null
done
wait_for 20 "a job that waits, in Prometheus" knows slurm_oldest_pending_seconds
wait_for 20 "the GPUs, in Prometheus" knows muster_gpu_utilization_ratio
expect_equal "2 2 1" "$(value_of muster_gpu_count) $(value_of muster_gpu_expected) $(value_of muster_gpu_driver_up)" "GPUs of c001"
expect_equal "" "$(LC_ALL=C comm -23 <("$dashboards" metrics playbooks/roles/grafana/files/*.json) <(known))" "what Prometheus does not know"
gpus_taken() { [[ $(value_of 'slurm_gpus{state="total"}') == 2 && $(value_of 'slurm_gpus{state="allocated"}') == 2 ]]; }
wait_for 20 "the job that runs has both GPUs, in Prometheus" gpus_taken
expect_equal "1 1" "$(value_of 'slurm_jobs{state="running"}') $(value_of 'slurm_jobs{state="pending"}')" "jobs"
lab exec login1 scancel --user=root
# shellcheck disable=SC2016
expect_contains "$(lab exec login1 sh -c 'curl -s -u "admin:$(cat /etc/grafana/muster_admin_password)" http://127.0.0.1:394')" \
  '"dashboards": ["Cluster", "GPUs", "Node", "Slurm"]' "what Grafana shows"
lab exec login1 systemctl stop slurmctld
wait_for 30 "the alert of a silent slurmctld" pending_or_firing SlurmSilent
lab exec login1 systemctl start slurmctld

step "users' software"
lab exec c001 python3 -c 'import numpy; print(numpy.arange(3).sum())'
lab exec c001 install -d /apps/modulefiles
# shellcheck disable=SC2016
expect_contains "$(lab exec c001 bash -lc 'echo $MODULEPATH')" /apps/modulefiles "MODULEPATH of a login"
expect_equal "NCCL_SOCKET_IFNAME==host0" "$(lab exec c001 grep -v '^#' /etc/nccl.conf)" "nccl.conf"

step "the worker's packages come through the login node, which serves nobody else"
login1=$(lab exec c001 getent ahostsv4 login1 | awk 'NR == 1 { print $1 }')
expect_contains "$(lab exec c001 apt-config dump Acquire::http::Proxy)" "\"http://$login1:3142\"" "the worker's proxy"
lab exec c001 env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y hello </dev/null >/dev/null
expect_contains "$(lab exec login1 find /var/cache/apt-cacher-ng -name 'hello_*.deb')" hello_ "what the cache has kept"
[[ $(answer lab exec c001) != 000 ]] || fail "the cache does not answer the worker"
expect_equal 000 "$(answer env)" "the cache's answer to a machine that is no node"
expect_equal 403 "$(lab exec c001 curl -s --max-time 10 -o /dev/null -w '%{http_connect}' \
  -x "http://$login1:3142" https://example.com/ || true)" "a tunnel through the cache to anywhere"

step "what a node logs is on the log host, also after that was down"
log_line c001 "before it"
log_line login1 "its own"
wait_for 15 "a line of the worker" has_line c001 "before it"
wait_for 5 "a line of the log host itself" has_line login1 "its own"
lab exec login1 systemctl stop rsyslog.service syslog.socket
log_line c001 "while it is down"
lab exec login1 systemctl start rsyslog
wait_for 90 "a line of while it was down" has_line c001 "while it is down"
lab exec login1 systemctl stop rsyslog.service syslog.socket
for text in "being sent" "in the queue"; do log_line c001 "$text"; sleep 0.5; done
lab exec c001 systemctl restart rsyslog
log_line c001 "after a restart here"
lab exec login1 systemctl start rsyslog
for text in "in the queue" "after a restart here"; do
  wait_for 90 "the line '$text'" has_line c001 "$text"
done
# A name in a message is nobody's proof.
lab exec c001 bash -c 'printf "<13>Jan  1 00:00:00 login1 lab-log: in the name of another\n" >/dev/tcp/login1/601'
wait_for 10 "a line in another's name, in the sender's file" has_line c001 "in the name of another"
! has_line login1 "in the name of another" || fail "a worker writes in another's name"
! connects outside -- 192.0.2.1 601 || fail "the log host listens outside"
lab exec login1 bash -c 'yes "a line of a node that is in trouble" | head -c 70000000 >>/var/log/nodes/c001.log'
lab exec login1 systemctl start muster-node-logs.service
lab exec login1 test -e /var/log/nodes/c001.log.1 || fail "a large file is not set aside"
log_line c001 "into a new file"
wait_for 10 "a line in the new file" has_line c001 "into a new file"

step "nodes know each other's host keys"
lab exec login1 ssh-keygen -q -t ed25519 -N '' -f /root/between
lab exec login1 cat /root/between | lab exec c001 install -m 600 /dev/stdin /root/between
key=$(lab exec login1 cat /root/between.pub)
for node in login1 c001; do
  # shellcheck disable=SC2016
  lab exec "$node" sh -c 'echo "$1" >>/root/.ssh/authorized_keys' - "$key"
done
strictly login1 c001 || fail "login1 does not know c001"
strictly c001 login1 || fail "c001 does not know login1"
strictly c001 c001 || fail "c001 does not know itself"
strictly c001 "$login1" || fail "c001 does not know login1's address"
lab exec c001 sed -i 's/^c001,/unknown,/' /etc/ssh/ssh_known_hosts
! strictly c001 c001 2>/dev/null || fail "a host key is taken on trust"

step "a user's server in JupyterHub is a job of that user, and outlives JupyterHub"
lab exec login1 chpasswd <<<"ann:of-ann"
wait_for 30 "JupyterHub" hub /hub/api -f
! connects lab exec c001 -- login1 300 || fail "JupyterHub takes passwords from other machines"
expect_contains "$(hub /hub/login -d username=ann -d password=wrong)" "Invalid username or password" "a wrong password"
expect_equal 302 "$(hub_code /hub/login -d username=ann -d password=of-ann)" "ann's password"
token=$(hub /hub/api/users/ann/tokens -d '{"auth": {"username": "ann", "password": "of-ann"}}' | read_json 'print(value["token"])')
hub /hub/api/users/ann/server -f -d '{"gpus": 1}' >/dev/null || fail "ann's server is refused"
wait_for 120 "ann's server" server_answers
job=$(jobs_of_ann)
expect_contains "$job" "muster-jupyter RUNNING" "ann's jobs"
lab exec c001 pgrep -u ann -f jupyterhub-singleuser >/dev/null || fail "the server does not run as ann on the worker"
expect_contains "$(lab exec login1 scontrol show job "${job##* }")" "gpu:1" "what the job asked for"
lab exec login1 systemctl restart jupyterhub
wait_for 30 "ann's server after a restart of JupyterHub" server_answers
expect_equal "$job" "$(jobs_of_ann)" "the job after a restart of JupyterHub"
hub /hub/api/users/ann/server -X DELETE -f >/dev/null || fail "ann cannot stop her server"
wait_for 60 "ann without a job" no_jobs_of_ann
expect_equal masked "$(lab exec c001 systemctl is-enabled jupyterhub || true)" "JupyterHub on the worker"

step "sessions have their limits, and sshd its settings"
expect_equal 4321 "$(log_in boss@c001 'ulimit -Hu')" "processes of a session"
expect_contains "$(lab exec c001 sshd -T)" "passwordauthentication no" "sshd's settings"

step "the directory is down, and nobody notices who is not in it"
expect_equal active "$(lab exec c001 systemctl is-active sssd)" sssd
expect_equal "" "$(lab exec c001 systemctl list-units --failed --plain --no-legend 'sssd*')" "failed parts of sssd"
expect_contains "$(lab exec c001 sssctl config-check)" "validators: 0" "sssd's configuration"
rc=0
lab exec c001 timeout 15 getent passwd nobody-of-this-name || rc=$?
expect_equal 2 "$rc" "the answer to an unknown name"
log_in ann@login1 true || fail "ann cannot log in to the login node"

step "the directory answers: its users log in by password and key, and have jobs"
tar c -C "$work" directory | lab exec login1 tar x --no-same-owner -C /srv
lab exec login1 bash -s <tests/testdata/lab/directory/serve.sh
for node in login1 c001; do
  # sssd itself would ask again in a minute or so.
  lab exec "$node" systemctl kill --kill-whom=main --signal=USR2 sssd
  wait_for 90 "$node knows zoe" known_to "$node"
  expect_equal "zoe:70001:70000:/home/zoe:/bin/bash" "$(known_to "$node" | cut -d: -f1,3,4,6,7)" "zoe on $node"
  expect_equal "everybody students" "$(lab exec "$node" id -nG zoe)" "groups of zoe on $node"
done
expect_equal zoe "$(by_password zoe of-zoe 'id -un')" "who logs in by password"
expect_equal zoe "$(lab exec login1 stat -c %U /home/zoe)" "whose home the first login made"
! by_password zoe wrong true || fail "zoe logs in with a wrong password"
! by_password max of-max true || fail "somebody who is no student logs in"
lab exec login1 runuser -u zoe -- mkdir -m 700 /home/zoe/.ssh
lab exec login1 runuser -u zoe -- tee /home/zoe/.ssh/authorized_keys <"$(lab_folder)/ssh/id_ed25519.pub" >/dev/null
log_in zoe@login1 true || fail "zoe cannot log in by key"
# shellcheck disable=SC2016
expect_equal "zoe on c001" \
  "$(lab exec login1 runuser -u zoe -- srun --immediate=60 --chdir=/ -w c001 sh -c 'echo "$(id -un) on $(hostname)"')" "a job of zoe"
lab exec login1 systemctl stop lab-directory
wait_for 30 "zoe logs in from what sssd has kept, without the directory" is_remembered

step "a worker lets in who has a job there, and administrators"
# sssd's part of PAM lets users of the node through early; the question for the job comes before it.
is_kept_out ann@c001 || fail "ann is on the worker without a job"
expect_contains "$(lab exec c001 journalctl -q --no-pager -t sshd)" \
  "Access denied for user ann by PAM account configuration" "why ann is kept out"
log_in boss@c001 true || fail "an administrator is kept out"
log_in c001 true || fail "root is kept out"
expect_equal masked "$(lab exec c001 systemctl is-enabled systemd-logind || true)" "logind of the worker"
job=$(lab exec login1 runuser -u ann -- sbatch --parsable --chdir=/ --output=/dev/null -w c001 --wrap 'sleep 300')
wait_for 30 "ann beside her job" log_in ann@c001 true
expect_contains "$(lab exec c001 journalctl -q --no-pager)" "adopted into job $job" "the journal"
lab exec login1 systemctl stop slurmctld
lab exec c001 systemctl stop slurmd
log_in boss@c001 true || fail "without Slurm an administrator is kept out"
# From 23.11 on slurmd waits for slurmctld, and gives up at times until systemd starts it again.
lab exec c001 systemctl start --no-block slurmd
lab exec login1 systemctl start slurmctld
wait_for 30 "slurmctld answers" lab exec login1 scontrol ping
lab exec login1 scancel "$job"
wait_for 30 "ann out after her job" is_kept_out ann@c001
nodes_idle c001 || wait_for 30 "c001 idle again" nodes_idle c001

step "what would lock Muster out, or is misspelled, is refused"
apply playbooks/site.yaml --limit c001 -e 'ssh_extra_config=["PermitRootLogin no"]'
expect_applied 3 "a refused configuration of sshd"
expect_contains "$APPLY_OUTPUT" "root could not log in by key" "what is wrong with it"
log_in c001 true || fail "a refused configuration of sshd is in use"
# With the password of sssd_bind_dn in it the file would be a secret, and so what is wrong with it.
apply playbooks/site.yaml --limit c001 -e 'sssd_bind_dn=""' -e 'sssd_extra_config=["ldap_pagesize = 500"]'
expect_applied 3 "a refused configuration of sssd"
expect_contains "$APPLY_OUTPUT" "'ldap_pagesize' is not allowed" "what is wrong with it"
apply playbooks/site.yaml --limit c001
expect_applied 0 "the configuration of before"
# sshd listens to nobody for a moment while it reads its settings.
wait_for 30 "the list of host keys mended" strictly c001 c001

step "without the question for jobs everybody comes in, and nothing of it is left; nor of a group that a person has left"
expect_equal "people admins" "$(lab exec c001 id -nG boss)" "groups of boss"
sed -i -e 's/login_needs_job: true/login_needs_job: false/' -e 's/ groups: \[admins\],//' \
  -e '/{name: boss,/a\        - {name: zoe, uid: 70001, group: people}' "$work/inventory/services.yaml"
muster inventory apply "$work/inventory" >/dev/null
apply playbooks/site.yaml --limit c001
expect_applied 0 "no question for jobs"
# sssd still has her in its cache, with another group.
expect_equal "zoe:x:70001:3000" "$(lab exec c001 grep '^zoe:' /etc/passwd | cut -d: -f1-4)" "the account of somebody of the directory"
expect_equal "70001 people" "$(lab exec c001 id -u zoe) $(lab exec c001 id -nG zoe)" "who she is"
wait_for 30 "ann let in" log_in ann@c001 true
expect_equal people "$(lab exec c001 id -nG boss)" "groups of boss without admins"
expect_equal "" "$(lab exec c001 sh -c 'grep -rl muster-job-login /etc/pam.d; ls -d /etc/pam.d/muster-* 2>/dev/null; true')" "files of PAM"
expect_equal active "$(lab exec c001 systemctl is-active systemd-logind)" "logind of the worker"

step "after a restart of the machine the filter is there before anybody asks"
lab exec login1 systemctl is-enabled muster-firewall.service
lab exec login1 systemctl restart muster-firewall.service
connects outside -- 192.0.2.1 22 || fail "ssh is closed after a restart of the filter"
! connects outside -- 192.0.2.1 8001 || fail "a port is open after a restart of the filter"

step "a port that is none is refused, and closes nothing"
sed -i 's/{port: 22}/{port: no-such-service}/' "$work/inventory/services.yaml"
muster inventory apply "$work/inventory" >/dev/null
apply playbooks/site.yaml --limit login1
expect_applied 3 "a port that is none"
expect_contains "$APPLY_OUTPUT" "no-such-service" "what nft refuses"
connects outside -- 192.0.2.1 22 || fail "a refused file of rules has closed ssh"
sed -i 's/{port: no-such-service}/{port: 22}/' "$work/inventory/services.yaml"
muster inventory apply "$work/inventory" >/dev/null
# The failed step has left its handler due, which runs now.
apply playbooks/site.yaml --limit login1
expect_applied 0 "the corrected port"

step "a second apply changes nothing"
apply playbooks/site.yaml
expect_applied 0 "second apply"
for node in login1 c001; do
  expect_equal 0 "$(recap "$APPLY_RUN" "$node" changed)" "changes on $node"
  expect_equal people "$(lab exec "$node" id -nG zoe)" "groups of zoe on $node"
done
echo PASSED
