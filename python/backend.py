"""Makes the wheel of pipesim, for pip (PEP 517) and for `make wheel`: python3 python/backend.py FOLDER [BUILT]

The library goes into it as one file that has of GLib, PCRE2, libcsv and zlib what it needs, where their static libraries are
there; else with copies of the shared ones beside it. Needs nothing but Python."""

import base64
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("pipesim", "pipesim_torch")
LIBRARIES = ("glib-2.0", "pcre2-8", "csv", "z")
EXPORTS = "{ global: pipesim_*; local: *; };\n"


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, stdout=sys.stderr, **options)


def built(folder):
    """The folder in which the library is built: where it was configured, or @folder, configured now."""
    where = next((path for path in (Path(os.environ.get("PIPESIM_BUILD", ROOT)), ROOT) if (path / "config.status").is_file()), None)
    if where is None:
        if not (ROOT / "configure").is_file():
            raise SystemExit(f"{ROOT} has no configure: run ./bootstrap there first")
        where = folder
        run(ROOT / "configure", "--without-cuda", cwd=where)
    run("make", "-s", f"-j{os.cpu_count() or 1}", "libpipesim.la", cwd=where)
    return where


def link(where, out):
    """One shared library of the objects in @where at @out, that needs the C library alone. Where that fails libraries come beside it."""
    exports = out.parent / "exports"
    exports.write_text(EXPORTS)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    objects = ["-Wl,--whole-archive", where / ".libs/libpipesim-cli.a", "-Wl,--no-whole-archive", where / "src/cli/.libs/libpipesim_la-mpi.o"]
    command = [*compiler, "-shared", "-s", "-o", out, *objects, f"-Wl,--version-script={exports}", "-Wl,--gc-sections", "-Wl,-z,defs"]
    names = [f"-l{name}" for name in LIBRARIES]
    try:
        run(*command, "-Wl,-Bstatic", *names, "-Wl,-Bdynamic", "-lm", "-pthread", stderr=subprocess.DEVNULL)
    except subprocess.CalledProcessError:
        run(*command, "-Wl,--disable-new-dtags,-rpath,$ORIGIN", *names, "-lm", "-pthread")
        needed = subprocess.run(["ldd", out], check=True, capture_output=True, text=True).stdout
        for name, path in re.findall(r"(\S+) => (\S*/lib(?:glib|pcre2|csv|z)[-.]\S*)", needed):
            shutil.copy(path, out.parent / name)
    exports.unlink()


def tag_of(libraries):
    """py3-none-manylinux_2_34_x86_64: the C library that all of them run on."""
    machine = platform.machine()
    found = [int(n) for path in libraries for n in re.findall(rb"GLIBC_2\.(\d+)", path.read_bytes())]
    system = f"manylinux_2_{max(found)}_{machine}" if found and platform.libc_ver()[0] == "glibc" else f"linux_{machine}"
    return f"py3-none-{system}"


def metadata(project):
    lines = ["Metadata-Version: 2.1"]
    lines += [f"{key}: {project[name]}" for key, name in (("Name", "name"), ("Version", "version"), ("Summary", "description"))]
    lines += [f"Requires-Python: {project['requires-python']}", "Description-Content-Type: text/markdown"]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {need}; extra == "{extra}"' for need in needs]
    return "\n".join(lines) + "\n\n" + (ROOT / project["readme"]).read_text(encoding="utf-8")


class Wheel:
    """Files of a wheel, written in one order with one time, so that the same files make the same bytes."""

    def __init__(self):
        with open(ROOT / "pyproject.toml", "rb") as file:
            self.project = tomllib.load(file)["project"]
        self.files = {}
        self.stem = f"{self.project['name']}-{self.project['version']}"

    def write(self, folder, tag):
        info = f"{self.stem}.dist-info"
        scripts = "".join(f"{name} = {place}\n" for name, place in self.project["scripts"].items())
        self.files |= {
            f"{info}/METADATA": metadata(self.project).encode(),
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: pipesim\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
            f"{info}/entry_points.txt": f"[console_scripts]\n{scripts}".encode(),
            f"{info}/licenses/COPYING": (ROOT / "COPYING").read_bytes(),
        }
        record = ""
        for name, data in sorted(self.files.items()):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        self.files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
        name = f"{self.stem}-{tag}.whl"
        with zipfile.ZipFile(Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as packed:
            for path, data in sorted(self.files.items()):
                entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
                entry.external_attr = (0o755 if ".so" in path else 0o644) << 16
                packed.writestr(entry, data, zipfile.ZIP_DEFLATED)
        return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    wheel = Wheel()
    for package in PACKAGES:
        for path in sorted((ROOT / "python" / package).rglob("*")):
            if path.suffix == ".py" or path.name == "py.typed":
                wheel.files[str(path.relative_to(ROOT / "python"))] = path.read_bytes()
    for kind in ("models", "devices"):
        for path in (ROOT / kind).glob("*.ini"):
            wheel.files[f"pipesim/data/{kind}/{path.name}"] = path.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        build, libraries = Path(folder) / "build", Path(folder) / "libraries"
        build.mkdir()
        libraries.mkdir()
        link(built(build), libraries / "libpipesim.so")
        made = sorted(libraries.iterdir())
        wheel.files |= {f"pipesim/data/{path.name}": path.read_bytes() for path in made}
        return wheel.write(wheel_directory, tag_of(made))


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A wheel that points here: the library is the one that was built here."""
    wheel = Wheel()
    wheel.files["pipesim.pth"] = f"{ROOT / 'python'}\n".encode()
    return wheel.write(wheel_directory, "py3-none-any")


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    if len(sys.argv) > 2:
        os.environ["PIPESIM_BUILD"] = os.path.abspath(sys.argv[2])
    print(os.path.join(sys.argv[1], build_wheel(sys.argv[1])))
