# Those who are notified, on login1: a webhook that verifies signatures, a mail server (postfix) and
# Alertmanager. Sourced after testing.sh; $work is the test's own folder.
# shellcheck shell=bash disable=SC2154

# Installs them and lets them run; needs no node but login1.
install_receivers() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$work/mail.key" -out "$work/mail.crt" 2>/dev/null
  printf %s "the key of the lab's webhook" >"$work/hook.key"
  cp tests/testdata/lab/webhook_receiver.py "$work/"
  tar c -C "$work" mail.key mail.crt hook.key webhook_receiver.py | lab exec login1 sh -c 'mkdir -p /srv/receivers && tar x --no-same-owner -C /srv/receivers'
  lab exec login1 sh -ec '
    export DEBIAN_FRONTEND=noninteractive
    # A lab has no address that a cluster of them could announce.
    echo "ARGS=\"--cluster.listen-address=\"" >/etc/default/prometheus-alertmanager
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends -o Dpkg::Options::=--force-confold \
      postfix prometheus-alertmanager python3 >/dev/null
    useradd --create-home ops
    postconf -e inet_interfaces=loopback-only mydestination=lab.test smtpd_tls_security_level=encrypt \
      smtpd_tls_cert_file=/srv/receivers/mail.crt smtpd_tls_key_file=/srv/receivers/mail.key \
      home_mailbox=mail/
    systemctl restart postfix prometheus-alertmanager
    systemd-run --quiet --unit=lab-webhook /srv/receivers/webhook_receiver.py 9300 /srv/receivers/hook.key /srv/receivers/bodies'
}

# The channels, for a folder of an inventory.
write_channels() {  # FOLDER
  lab muster secret set hook_key --roles notifications <"$work/hook.key" >/dev/null
  cat >"$1/notifications.yaml" <<YAML
notifications:
  hook: {type: webhook, url: "http://127.0.0.1:9300/", key_secret: hook_key}
  alerts: {type: alertmanager, url: "http://127.0.0.1:9093"}
  mail:
    type: email
    url: smtp://localhost:25
    from: muster@lab.test
    to: [ops@lab.test]
    ca: |
$(sed 's/^/      /' "$work/mail.crt")
YAML
}

# Whether a receiver has got a text. Mails are unpacked first.
hook_got() { lab exec login1 grep -q -- "$1" /srv/receivers/bodies; }  # TEXT
mail_got() {  # TEXT
  lab exec login1 python3 -c '
import email, email.policy, pathlib, sys
mails = [email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
         for file in pathlib.Path("/home/ops/mail/new").iterdir()]
sys.exit(not any(sys.argv[1] in mail["Subject"] + mail.get_content() for mail in mails))' "$1"
}
# The alerts that fire of a kind, as `NODE SEVERITY`.
alerts_of() {  # KIND
  lab exec login1 curl -s http://127.0.0.1:9093/api/v2/alerts | read_json '
for labels in (alert["labels"] for alert in value if alert["labels"]["kind"] == sys.argv[1]):
  print(labels.get("node", labels.get("nodes", "-")), labels["severity"])' "$1"
}
alert_fires() { says -x "$2" alerts_of "$1"; }  # KIND `NODE SEVERITY`
no_alert_of() { ! says "^$2 " alerts_of "$1"; }     # KIND NODE
