#!/usr/bin/python3
"""Writes the same work of 100 steps in the words of each tool.

Usage: work.py FOLDER. Makes FOLDER/{muster,ansible,puppet,cfengine} and FOLDER/packages, the list
of the packages that the work installs.
"""
import pathlib
import sys

ROOT = "/etc/bench"
# What templates read.
VARIABLES = {"bench_site": "hpc1", "bench_owner": "root@login1"}
PORTS = [8001, 8002, 8003, 8004, 8005]
PACKAGES = """tree htop lsof strace rsync jq pv bc dc unzip zip dos2unix ncdu hdparm lshw pciutils
              usbutils ethtool tcpdump mtr-tiny socat numactl attr acl time patch tmux psmisc bzip2
              dmidecode""".split()
DIRECTORIES = [ROOT, f"{ROOT}/files", f"{ROOT}/links"] + [f"{ROOT}/d{n:02}" for n in range(9)]
LINKS = {f"{ROOT}/links/l{n}": f"../files/f{n:02}.conf" for n in range(8)}
USERS = {f"bench{n}": 3000 + n for n in range(1, 6)}
OWN_UNITS = [f"bench-{n}.service" for n in range(1, 4)]
UNITS = OWN_UNITS + ["ssh.service", "systemd-networkd.service"]

# A template is a list of lines; <name> stands for a variable, "*" before a line says once a port.
FILES = {
    f"{ROOT}/files/f{n:02}.conf": [
        f"# File {n} of <bench_site>.", "[main]", f"index = {n}", "owner = <bench_owner>",
        "[ports]", "*port = <port>", "[end]"] for n in range(37)
}
FILES.update({
    f"/etc/systemd/system/{unit}": [
        "[Unit]", f"Description={unit} of <bench_site>", "[Service]", "Type=oneshot",
        "RemainAfterExit=yes", "ExecStart=/bin/true", "[Install]", "WantedBy=multi-user.target"]
    for unit in OWN_UNITS
})


def template(lines, variable, loop):
    """`variable` formats a name; `loop` wraps the line of a port."""
    text = ""
    for line in lines:
        repeated = line.startswith("*")
        for name in (*VARIABLES, "port"):
            line = line.replace(f"<{name}>", variable(name))
        text += loop(line[1:]) if repeated else line + "\n"
    return text


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def name_of(path):
    return path.rsplit("/", 1)[1]


def jinja(name):
    return "{{ " + name + " }}"


def jinja_loop(line):
    return "{% for port in bench_ports %}\n" + line + "\n{% endfor %}\n"


def yaml_variables():
    rows = [f"{name}: {value}" for name, value in VARIABLES.items()]
    return "\n".join(rows + [f"bench_ports: {PORTS}"]) + "\n"


def write_muster(folder):
    tasks = []
    for path in DIRECTORIES:
        tasks.append(f"- {{name: {path}, directory: {{path: {path}, mode: \"0755\"}}}}")
    for name in PACKAGES:
        tasks.append(f"- {{name: {name}, package: {{name: {name}}}}}")
    for path, lines in FILES.items():
        write(folder / f"roles/bench/templates/{name_of(path)}.j2",
              template(lines, jinja, jinja_loop))
        tasks.append(f"- {{name: {path}, file: {{path: {path}, template: {name_of(path)}.j2, "
                     "owner: root, group: root, mode: \"0644\"}}")
    for path, target in LINKS.items():
        tasks.append(f"- {{name: {path}, symlink: {{path: {path}, target: {target}}}}}")
    for name, uid in USERS.items():
        tasks.append(f"- {{name: {name}, user: {{name: {name}, uid: {uid}, group: users, "
                     f"home: /home/{name}, shell: /bin/sh}}}}")
    for unit in UNITS:
        tasks.append(f"- {{name: {unit}, unit: {{name: {unit}, enabled: true, state: started}}}}")
    assert len(tasks) == 100
    write(folder / "roles/bench/tasks/main.yaml", "\n".join(tasks) + "\n")
    write(folder / "roles/bench/defaults/main.yaml", yaml_variables())
    write(folder / "site.yaml", "- {play: bench, hosts: compute, roles: [bench]}\n")
    package_tasks = [task for task in tasks if "package:" in task]
    write(folder / "../muster-packages/roles/packages/tasks/main.yaml",
          "\n".join(package_tasks) + "\n")
    write(folder / "../muster-packages/site.yaml",
          "- {play: packages, hosts: compute, roles: [packages]}\n")


def write_ansible(folder):
    tasks = []
    for path in DIRECTORIES:
        tasks.append(f"- file: {{path: {path}, state: directory, mode: \"0755\"}}")
    for name in PACKAGES:
        tasks.append(f"- apt: {{name: {name}, install_recommends: false}}")
    for path, lines in FILES.items():
        write(folder / f"roles/bench/templates/{name_of(path)}.j2",
              template(lines, jinja, jinja_loop))
        tasks.append(f"- template: {{src: {name_of(path)}.j2, dest: {path}, owner: root, "
                     "group: root, mode: \"0644\"}")
    for path, target in LINKS.items():
        tasks.append(f"- file: {{path: {path}, src: {target}, state: link}}")
    for name, uid in USERS.items():
        tasks.append(f"- user: {{name: {name}, uid: {uid}, group: users, home: /home/{name}, "
                     "shell: /bin/sh, create_home: false}")
    for unit in UNITS:
        tasks.append(f"- systemd: {{name: {unit}, enabled: true, state: started}}")
    assert len(tasks) == 100
    write(folder / "roles/bench/tasks/main.yaml", "\n".join(tasks) + "\n")
    write(folder / "roles/bench/defaults/main.yaml", yaml_variables())
    write(folder / "site.yaml", "- {hosts: all, roles: [bench]}\n")
    write(folder / "ansible.cfg", "[defaults]\nhost_key_checking = False\n"
          "interpreter_python = /usr/bin/python3\n[ssh_connection]\npipelining = True\n"
          "control_path_dir = /tmp/.muster-bench-ssh\n"
          "ssh_args = -o ControlMaster=auto -o ControlPersist=60s\n")


def write_puppet(folder):
    module = folder / "modules/bench"
    rows = [f"${name} = '{value}'" for name, value in VARIABLES.items()]
    rows.append(f"$bench_ports = {PORTS}")
    values = ", ".join(f"{name} => ${name}" for name in (*VARIABLES, "bench_ports"))
    count = 0

    def add(kind, title, **parameters):
        nonlocal count
        count += 1
        body = ", ".join(f"{key} => {value}" for key, value in parameters.items())
        rows.append(f"{kind} {{ '{title}': {body} }}")

    for path in DIRECTORIES:
        add("file", path, ensure="directory", mode="'0755'")
    for name in PACKAGES:
        add("package", name, ensure="installed", install_options="['--no-install-recommends']")
    for path, lines in FILES.items():
        text = template(lines, lambda name: f"<%= ${name} %>",
                        lambda line: "<% $bench_ports.each |$port| { -%>\n" + line + "\n<% } -%>\n")
        write(module / f"templates/{name_of(path)}.epp", text)
        add("file", path, ensure="file", owner="'root'", group="'root'", mode="'0644'",
            content=f"epp('bench/{name_of(path)}.epp', {{ {values} }})")
    for path, target in LINKS.items():
        add("file", path, ensure="link", target=f"'{target}'")
    for name, uid in USERS.items():
        add("user", name, ensure="present", uid=uid, gid="'users'", home=f"'/home/{name}'",
            shell="'/bin/sh'")
    for unit in UNITS:
        after = {"require": f"File['/etc/systemd/system/{unit}']"} if unit in OWN_UNITS else {}
        add("service", unit, ensure="running", enable="true", **after)
    assert count == 100
    write(folder / "site.pp", "\n".join(rows) + "\n")


def write_cfengine(folder):
    promises = {}

    def add(kind, promiser, *attributes):
        body = ",\n        ".join(f"{key} => {value}" for key, value in attributes)
        promises.setdefault(kind, []).append(f"    \"{promiser}\"\n        {body};")

    for path in DIRECTORIES:
        add("files", path + "/.", ("create", '"true"'), ("perms", "mode_of(\"755\")"))
    for name in PACKAGES:
        add("packages", name, ("policy", '"present"'), ("package_module", "apt_get"))
    for path, lines in FILES.items():
        text = template(lines, lambda name: "{{.}}" if name == "port" else "{{" + name + "}}",
                        lambda line: "{{#bench_ports}}\n" + line + "\n{{/bench_ports}}\n")
        write(folder / f"templates/{name_of(path)}.mustache", text)
        add("files", path, ("create", '"true"'), ("template_method", '"mustache"'),
            ("edit_template", f"\"$(this.promise_dirname)/templates/{name_of(path)}.mustache\""),
            ("template_data", "@(values)"), ("edit_defaults", "no_copies"), ("perms", "mode_of(\"644\")"))
    for path, target in LINKS.items():
        add("files", path, ("link_from", f"link_to(\"{target}\")"))
    for name, uid in USERS.items():
        add("users", name, ("policy", '"present"'), ("uid", f'"{uid}"'),
            ("group_primary", '"users"'), ("home_dir", f'"/home/{name}"'), ("shell", '"/bin/sh"'))
    for unit in UNITS:
        word = "start_" + unit.replace(".", "_").replace("-", "_")
        add("classes", word, ("not", f"returnszero(\"/bin/systemctl -q is-active {unit} && "
                              f"/bin/systemctl -q is-enabled {unit}\", \"useshell\")"))
        add("commands", f"/bin/systemctl enable --quiet --now {unit}", ("if", f'"{word}"'))
    data = ", ".join(f'"{name}": "{value}"' for name, value in VARIABLES.items())
    order = ["files", "packages", "users"]
    text = "body common control\n{\n    bundlesequence => { \"work\", \"units\" };\n}\n"
    text += "bundle agent work\n{\nvars:\n    \"values\" data => parsejson('{ " + data
    text += f", \"bench_ports\": {PORTS} }}');\n"
    for kind in order:
        text += f"{kind}:\n" + "\n".join(promises[kind]) + "\n"
    text += "}\nbundle agent units\n{\n"
    for kind in ("classes", "commands"):
        text += f"{kind}:\n" + "\n".join(promises[kind]) + "\n"
    text += "}\n"
    text += ("body perms mode_of(mode)\n{\n    mode => \"$(mode)\";\n"
             "    owners => { \"root\" };\n    rxdirs => \"false\";\n}\n")
    text += "body edit_defaults no_copies\n{\n    edit_backup => \"false\";\n}\n"
    text += ("body link_from link_to(target)\n{\n    source => \"$(target)\";\n"
             "    link_type => \"symlink\";\n    when_no_source => \"force\";\n}\n")
    text += ("body package_module apt_get\n{\n    query_installed_ifelapsed => \"0\";\n"
             "    query_updates_ifelapsed => \"1440\";\n"
             "    default_options => { \"--no-install-recommends\" };\n"
             "    interpreter => \"/usr/bin/python3\";\n}\n")
    write(folder / "site.cf", text)


def main():
    folder = pathlib.Path(sys.argv[1])
    write_muster(folder / "muster")
    write_ansible(folder / "ansible")
    write_puppet(folder / "puppet")
    write_cfengine(folder / "cfengine")
    write(folder / "packages", "\n".join(PACKAGES) + "\n")


if __name__ == "__main__":
    main()
