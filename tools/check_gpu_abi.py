#!/usr/bin/python3
"""Holds what Muster knows of NVIDIA's libraries against the real ones.

Every structure, number and signature that agent/burnin/gpu declares is compared with NVIDIA's headers,
every symbol is looked up in drivers of several ages, and every kernel is assembled for every generation
of GPUs: a mismatch, a symbol that is not where the table says, or a register that spills is an error.
On a machine without a GPU the checks of muster-burnin run with the libraries of each driver, too, and must
be unknown, with the reason.

Headers, libraries and the assembler are packages of Debian (non-free). They are unpacked into
build/gpu_abi and never installed; an apt configuration of its own, made from the machine's sources of
Debian, finds them.

Usage: check_gpu_abi.py [--fetch] [--mutate few|all] [--table] [--build FOLDER] [ROOT]
  --fetch   download the packages that build/gpu_abi lacks (1 GB)
  --mutate  instead, change declarations one by one and show that each change is found
  --table   also print the registers of each kernel, for docs/benchmarks.md
  --build   the build whose PTX is assembled: build/release
Exits 1 for an error, 77 where the packages are not to be had.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

SKIPPED = 77
OLDER, NEWER = "bookworm", "trixie"

# Package, suite, and the folders of it that are unpacked.
PACKAGES = [
    ("nvidia-cuda-dev", NEWER, ["./usr/include/"]),
    ("nvidia-cuda-toolkit", NEWER, ["./usr/bin/ptxas"]),
    ("libnvidia-ml-dev", NEWER, ["./usr/include/"]),
    ("libnccl-dev", NEWER, ["./usr/include/"]),
    ("libnccl2", NEWER, ["./usr/lib/"]),
    ("libcublas12", NEWER, ["./usr/lib/"]),
    ("libcublaslt12", NEWER, ["./usr/lib/"]),
    ("libnvidia-tesla-470-ml1", OLDER, ["./usr/lib/"]),
    ("libnvidia-tesla-470-cuda1", OLDER, ["./usr/lib/"]),
    ("libnvidia-tesla-ml1", OLDER, ["./usr/lib/"]),
    ("libnvidia-tesla-cuda1", OLDER, ["./usr/lib/"]),
    ("libnvidia-ml1", OLDER, ["./usr/lib/"]),
    ("libcuda1", OLDER, ["./usr/lib/"]),
    ("libnvidia-ml1", NEWER, ["./usr/lib/"]),
    ("libcuda1", NEWER, ["./usr/lib/"]),
]

ABI_HEADERS = {
    "nvml": "agent/burnin/gpu/driver/nvml_abi.h",
    "cuda": "agent/burnin/gpu/driver/cuda_abi.h",
    "cublas": "agent/burnin/gpu/gemm/cublas_abi.h",
    "cublas_lt": "agent/burnin/gpu/gemm/cublas_lt_abi.h",
    "nccl": "agent/burnin/gpu/collective/nccl_abi.h",
}
COMPARE = "tools/gpu_abi/compare.cc"

# The driver that first has a function; the others are in all of them. nvml.h of the newer suite
# does not declare what is later than itself.
SINCE = {
    "nvmlDeviceGetComputeRunningProcesses_v3": 510,
    "nvmlDeviceGetGraphicsRunningProcesses_v3": 510,
    "nvmlDeviceGetMemoryInfo_v2": 510,
    "nvmlDeviceGetGpuFabricInfo": 525,
    "nvmlDeviceGetGpuMaxPcieLinkGeneration": 525,
    "nvmlDeviceGetCurrentClocksEventReasons": 535,
    "nvmlDeviceGetGpuFabricInfoV": 550,
    "nvmlDeviceGetMarginTemperature": 570,
    "cuTensorMapEncodeTiled": 525,
}

ARCHITECTURES = ["60", "61", "70", "75", "80", "86", "89", "90a"]
# Volta's kernel never runs from 8.0 on: modules_test.cc shows that others come before it.
LAST_ARCHITECTURE = {"gemm_sm70": 75}


class Errors:
    def __init__(self):
        self.found = 0

    def add(self, text):
        self.found += 1
        print(f"check_gpu_abi: {text}", file=sys.stderr)


def run(*command, **options):
    return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **options)


# The packages.

def folder_of(store, package, suite):
    return store / f"{package}-{suite}"


def lacking(store):
    return [row for row in PACKAGES if not (folder_of(store, row[0], row[1]) / "complete").exists()]


def debian_sources():
    """The addresses from which this machine gets Debian itself."""
    told = run("apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)",
               "Created-By: Packages")
    rows = [line.split("|") for line in told.stdout.splitlines()]
    return sorted({row[2] for row in rows if len(row) == 3 and row[:2] == ["Debian", "Debian"]})


def make_apt(store, sources):
    apt = store / "apt"
    for part in ["lists/partial", "cache/archives/partial", "parts"]:
        (apt / part).mkdir(parents=True, exist_ok=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (apt / "sources.list").write_text("".join(
        f"deb [signed-by={keys}] {source} {suite} main contrib non-free\n"
        for source in sources for suite in (OLDER, NEWER)))
    config = apt / "apt.conf"
    config.write_text(f'Dir::Etc::sourcelist "{apt}/sources.list";\n'
                      f'Dir::Etc::sourceparts "{apt}/parts";\n'
                      f'Dir::State::lists "{apt}/lists";\n'
                      f'Dir::Cache "{apt}/cache";\n'
                      'APT::Sandbox::User "root";\n')
    return config


def unpack(archive, folders, to):
    """Files and links below `folders`. The members of a package are sorted: it ends after the last."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as reader:
        with tarfile.open(fileobj=reader.stdout, mode="r|") as members:
            for member in members:
                if member.name.startswith(tuple(folder.rstrip("/") for folder in folders)):
                    member.name = member.name.lstrip("./")
                    members.extract(member, to)
                elif not member.isdir() and member.name > max(folders) + "\x7f":
                    break
        reader.kill()


def fetch(store):
    """False: a package cannot be had here."""
    missing = lacking(store)
    if not missing:
        return True
    sources = debian_sources()
    if not sources:
        print("check_gpu_abi: this machine has no lists of Debian's packages (apt-get update)")
        return False
    environment = {"APT_CONFIG": str(make_apt(store, sources)), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    updated = run("apt-get", "update", env=environment)
    if updated.returncode != 0:
        print("check_gpu_abi: " + updated.stdout)
        return False
    for package, suite, folders in missing:
        with tempfile.TemporaryDirectory(dir=store) as downloads:
            got = run("apt-get", "download", f"{package}/{suite}", env=environment, cwd=downloads)
            archives = list(pathlib.Path(downloads).glob("*.deb"))
            if got.returncode != 0 or len(archives) != 1:
                print(f"check_gpu_abi: {package} of {suite}: " + got.stdout)
                return False
            target = folder_of(store, package, suite)
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            unpack(archives[0], folders, target)
            (target / "complete").write_text(archives[0].name + "\n")
    return True


# Declarations.

def functions_of(root, library):
    """(member, symbol) of each function of an ABI header."""
    text = (root / ABI_HEADERS[library]).read_text()
    if library == "nvml":
        return [(name, "nvml" + name) for name in re.findall(r"\bX\((\w+), \(", text)]
    return re.findall(r'\bX\((?:[^",()]+, )?(\w+),\s*"(\w+)"', text)


def constants_of(root, library):
    text = re.sub(r"//.*", "", (root / ABI_HEADERS[library]).read_text())
    return sorted(set(re.findall(r"\b(k[A-Z]\w*) = ", text)) - {"kName"})


def structs_of(root, library):
    text = (root / ABI_HEADERS[library]).read_text()
    return [name for name in re.findall(r"^struct (\w+) \{", text, re.M) if name != "Functions"]


def check_complete(root, errors):
    """What is declared and not compared."""
    compared = (root / COMPARE).read_text()
    for library in ABI_HEADERS:
        for name in constants_of(root, library):
            if not re.search(rf"\b{library}::{name}\b", compared):
                errors.add(f"{ABI_HEADERS[library]}: {name} is not compared in {COMPARE}")
        for name in structs_of(root, library):
            if f"STRUCT({library}::{name}," not in compared:
                errors.add(f"{ABI_HEADERS[library]}: {name} is not compared in {COMPARE}")


def generated_checks(root, store, errors):
    header = (folder_of(store, "libnvidia-ml-dev", NEWER) / "usr/include/nvml.h").read_text()
    lines = []
    for member, symbol in functions_of(root, "nvml"):
        if re.search(rf"\bDECLDIR {symbol}\(", header):
            lines.append(f"CHECK_NVML({member})\n")
        elif SINCE.get(symbol, 0) <= 550:
            errors.add(f"nvml.h does not declare {symbol}")
    return "".join(lines)


def compare(root, store, generated, first_include=None):
    """What the compiler says; empty: all is alike."""
    with tempfile.NamedTemporaryFile("w", suffix=".inc") as checks:
        checks.write(generated)
        checks.flush()
        includes = [folder_of(store, package, NEWER) / "usr/include"
                    for package in ("nvidia-cuda-dev", "libnvidia-ml-dev", "libnccl-dev")]
        done = run("g++", "-std=c++20", "-fsyntax-only", "-fmax-errors=20",
                   f'-DGENERATED_CHECKS="{checks.name}"',
                   *([f"-I{first_include}"] if first_include else []), f"-I{root}",
                   *[f"-isystem{folder}" for folder in includes], root / COMPARE)
    return "" if done.returncode == 0 else done.stdout


# Symbols.

def libraries(store, pattern):
    """(path, driver or version) of the libraries whose file name fits."""
    found = []
    for package, suite, _ in PACKAGES:
        for path in folder_of(store, package, suite).rglob("*"):
            fits = re.fullmatch(pattern + r"\.(\d+)\..*", path.name)
            if fits and not path.is_symlink():
                found.append((path, int(fits.group(1))))
    return found


def symbols_in(path):
    return {line.split()[-1].split("@")[0]
            for line in run("nm", "-D", "--defined-only", path).stdout.splitlines() if line}


def check_symbols(root, store, errors):
    counted = 0
    for library, pattern in [("nvml", r"libnvidia-ml\.so"), ("cuda", r"libcuda\.so"),
                             ("cublas", r"libcublas\.so"), ("cublas_lt", r"libcublasLt\.so"),
                             ("nccl", r"libnccl\.so")]:
        there = libraries(store, pattern)
        if not there:
            errors.add(f"no library {pattern} in {store}")
        for path, version in there:
            exported = symbols_in(path)
            for _, symbol in functions_of(root, library):
                counted += 1
                expected = version >= SINCE.get(symbol, 0)
                if expected and symbol not in exported:
                    errors.add(f"{path.name} has no {symbol}")
                if not expected and symbol in exported:
                    errors.add(f"{path.name} has {symbol}, which the table says is later")
    return counted


# Kernels.

def ptx_texts(build):
    texts = {}
    for source in sorted(build.glob("agent/burnin/gpu/kernels/*.ptx.cc")):
        text = re.search(r'R"ptx\((.*)\)ptx"', source.read_text(), re.S)
        texts[source.name[:-len(".ptx.cc")]] = text.group(1)
    return texts


def assemble(store, name, text, architecture):
    """{kernel: registers} and what is wrong with it."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, name + ".ptx")
        source.write_text(text)
        ptxas = folder_of(store, "nvidia-cuda-toolkit", NEWER) / "usr/bin/ptxas"
        done = run(ptxas, "-v", f"-arch=sm_{architecture}", source, "-o", source.with_suffix(".cubin"))
    if done.returncode != 0:
        return {}, [f"{name} does not assemble for sm_{architecture}: {done.stdout.strip()}"]
    registers, wrong = {}, []
    # The assembler's words for wgmma whose registers are touched while it runs.
    if "are serialized" in done.stdout:
        wrong.append(f"{name}: products wait for each other for sm_{architecture}")
    for kernel, rest in re.findall(r"Compiling entry function '(\w+)'(.*?registers)", done.stdout, re.S):
        spilled = sum(int(count) for count in re.findall(r"(\d+) bytes spill", rest))
        registers[kernel] = int(re.search(r"Used (\d+) registers", rest).group(1))
        if spilled:
            wrong.append(f"{kernel} spills for sm_{architecture}")
    if not registers:
        wrong.append(f"{name}: ptxas names no kernel for sm_{architecture}")
    return registers, wrong


def check_kernels(build, store, errors):
    """{kernel: {architecture: registers}}."""
    table = {}
    texts = ptx_texts(build)
    if not texts:
        errors.add(f"no kernels in {build}: build it first")
    for name, text in texts.items():
        target = int(re.search(r"^\.target sm_(\d+)", text, re.M).group(1))
        for architecture in ARCHITECTURES:
            number = int(architecture.rstrip("a"))
            if not target <= number <= LAST_ARCHITECTURE.get(name, number):
                continue
            registers, wrong = assemble(store, name, text, architecture)
            for text_of_error in wrong:
                errors.add(text_of_error)
            for kernel, count in registers.items():
                table.setdefault(kernel, {})[architecture] = count
    return table


def print_table(table):
    print("| kernel | " + " | ".join(f"{int(a.rstrip('a')) / 10}{a[2:]}" for a in ARCHITECTURES) + " |")
    print("|---|" + "---|" * len(ARCHITECTURES))
    for kernel in sorted(table):
        print(f"| `{kernel}` | "
              + " | ".join(str(table[kernel].get(a, "")) for a in ARCHITECTURES) + " |")


# Checks with real libraries and no GPU.

GPU_CHECKS = ["gpu-inventory", "gpu-gemm", "gpu-memory", "gpu-copy", "gpu-collective", "gpu-dcgm"]
NO_DRIVER_IN_KERNEL = "nvmlInit_v2: Driver Not Loaded (9)"


def check_without_gpu(build, store, errors):
    """How many checks ran; none where the kernel has NVIDIA's driver."""
    worker = build / "bin/muster-burnin"
    if pathlib.Path("/proc/driver/nvidia").exists() or not worker.exists():
        return 0
    counted = 0
    cuda = {path.name.split(".so.")[1]: path for path, _ in libraries(store, r"libcuda\.so")}
    for nvml, _ in libraries(store, r"libnvidia-ml\.so"):
        version = nvml.name.split(".so.")[1]
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "libnvidia-ml.so.1").symlink_to(nvml)
            if version in cuda:
                pathlib.Path(folder, "libcuda.so.1").symlink_to(cuda[version])
            for check in GPU_CHECKS:
                counted += 1
                done = run(worker, check, env={"LD_LIBRARY_PATH": folder}, timeout=60)
                if done.returncode != 2 or f"{check}: unknown: " not in done.stdout \
                        or NO_DRIVER_IN_KERNEL not in done.stdout:
                    errors.add(f"{check} with the libraries of driver {version} and no GPU: exit "
                               f"{done.returncode}: {done.stdout.strip()}")
    return counted


# That the comparison can fail.

def mutations(root, how_many):
    """(header, what, its changed text) for numbers, fields and signatures."""
    for library, header in ABI_HEADERS.items():
        text = (root / header).read_text()
        names = constants_of(root, library)
        later = "".join(re.findall(r"#ifdef.*?#endif", (root / COMPARE).read_text(), re.S))
        names = [name for name in names if f"{library}::{name}" not in later]
        for name in names if how_many == "all" else names[:2]:
            # Not a bound, which any larger number satisfies too.
            step = "0 * " if name in ("kTextSize", "kMaxLinks") else "1 + "
            yield header, name, re.sub(rf"\b{name} = ", f"{name} = {step}", text, count=1)
    nvml = ABI_HEADERS["nvml"]
    text = (root / nvml).read_text()
    yield nvml, "a field", text.replace("unsigned clique_id;", "unsigned short clique_id;")
    yield nvml, "the order of fields", text.replace("unsigned field_id, scope_id;",
                                                    "unsigned scope_id, field_id;")
    yield nvml, "a signature", text.replace("DeviceGetPowerUsage, (Device, unsigned*)",
                                            "DeviceGetPowerUsage, (Device, unsigned long long*)")
    yield nvml, "a structure", text.replace("DeviceGetMemoryInfo, (Device, Memory*)",
                                            "DeviceGetMemoryInfo, (Device, Utilization*)")
    cuda = ABI_HEADERS["cuda"]
    text = (root / cuda).read_text()
    yield cuda, "a number of parameters", text.replace('"cuMemFree_v2", (DevicePointer)',
                                                       '"cuMemFree_v2", (DevicePointer, int)')


def check_mutations(root, store, build, how_many, errors):
    generated = generated_checks(root, store, errors)
    counted = 0
    for header, what, changed in mutations(root, how_many):
        original = (root / header).read_text()
        if changed == original:
            errors.add(f"{header}: {what} is no longer there to be changed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            for each in ABI_HEADERS.values():
                target = pathlib.Path(folder, each)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(root / each, target)
            pathlib.Path(folder, header).write_text(
                re.sub(r"^static_assert.*\n", "", changed, flags=re.M))
            said = compare(root, store, generated, folder)
        counted += 1
        if "static assertion failed" not in said and "error: cannot convert" not in said:
            errors.add(f"{header}: a change of {what} is not found: {said[:500]}")
    texts = ptx_texts(build)
    for module in ("gemm_fma", "gemm_dp4a"):
        tight = texts.get(module, "").replace(".minnctapersm 2", ".minnctapersm 8")
        counted += 1
        if not any("spills" in text for text in assemble(store, module, tight, "70")[1]):
            errors.add(f"{module} with eight blocks a multiprocessor does not spill")
    return counted


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--mutate", choices=["few", "all"])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("root", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    options = parser.parse_args()
    root = options.root.resolve()
    build = options.build or root / "build/release"
    store = root / "build/gpu_abi"
    errors = Errors()
    check_complete(root, errors)
    if options.fetch:
        store.mkdir(parents=True, exist_ok=True)
        if not fetch(store):
            return SKIPPED
    if lacking(store):
        print("check_gpu_abi: build/gpu_abi lacks "
              + ", ".join(sorted({f"{row[0]} of {row[1]}" for row in lacking(store)}))
              + ": run it with --fetch")
        return 1 if errors.found else SKIPPED
    if options.mutate:
        counted = check_mutations(root, store, build, options.mutate, errors)
        print(f"{counted} changes tried")
        return 1 if errors.found else 0
    generated = generated_checks(root, store, errors)
    if said := compare(root, store, generated):
        errors.add(f"{COMPARE}: {said}")
    looked_up = check_symbols(root, store, errors)
    table = check_kernels(build, store, errors)
    without_gpu = check_without_gpu(build, store, errors)
    if options.table:
        print_table(table)
    print(f"{sum(len(functions_of(root, library)) for library in ABI_HEADERS)} functions, "
          f"{sum(len(constants_of(root, library)) for library in ABI_HEADERS)} numbers, "
          f"{sum(len(structs_of(root, library)) for library in ABI_HEADERS)} structures compared; "
          f"{looked_up} symbols looked up; "
          f"{sum(len(row) for row in table.values())} kernels assembled; "
          f"{without_gpu} checks run without a GPU")
    return 1 if errors.found else 0


if __name__ == "__main__":
    sys.exit(main())
