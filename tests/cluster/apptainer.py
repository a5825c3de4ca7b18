"""Apptainer on Debian 12, which has no package of it: a later release's, with that release's libc.

The packages come through apt, which checks their signatures; the system's own libc stays as it is.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cluster.packages import need_packages, need_root

HELPERS = ("patchelf", "squashfs-tools", "uidmap", "fakeroot", "libseccomp2", "debootstrap")
LIBC = Path("/opt/apptainer-libc")
KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"


def need_apptainer(folder: Path) -> None:
    """Install Apptainer if it isn't there; skip the test, with the reason, if it can't be had."""
    if shutil.which("apptainer"):
        need_packages("debootstrap")
        return
    need_root()
    if "VERSION_CODENAME=bookworm" not in Path("/etc/os-release").read_text():
        pytest.skip("no apptainer here, and the test knows how to install it on Debian 12 alone")
    need_packages(*HELPERS)
    try:
        _unpack(folder)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"apptainer can't be had: {error.cmd}: {error.stderr.strip()[-500:]}")


def debian_mirror() -> str:
    """The mirror that this machine's apt uses."""
    output = _run(
        *("apt-get", "indextargets", "--format", "$(REPO_URI)"),
        *("Created-By: Packages", "Label: Debian"),
    )
    return min(output.split())


def _unpack(folder: Path) -> None:
    (folder / "lists" / "partial").mkdir(parents=True)
    mirror = debian_mirror()
    (folder / "sources.list").write_text(
        "".join(f"deb [signed-by={KEY}] {mirror} {suite} main\n" for suite in ("trixie", "sid"))
    )
    options = (
        f"-oDir::Etc::sourcelist={folder / 'sources.list'}",
        "-oDir::Etc::sourceparts=/dev/null",
        f"-oDir::State::lists={folder / 'lists'}",
        "-oDir::Cache::pkgcache=",
        "-oDir::Cache::srcpkgcache=",
        "-oAPT::Sandbox::User=root",
    )
    _run("apt-get", *options, "-qq", "update")
    _run("apt-get", *options, "-qq", "download", "apptainer/sid", "libc6/trixie", cwd=folder)
    for package in ("apptainer", "libc6"):
        [archive] = folder.glob(f"{package}_*.deb")
        _run("dpkg-deb", "-x", str(archive), str(folder / package))
    LIBC.mkdir(parents=True, exist_ok=True)
    for library in (folder / "libc6/usr/lib/x86_64-linux-gnu").glob("*.so*"):
        shutil.copy2(library, LIBC)
    tree = folder / "apptainer"
    for binary in ("usr/bin/apptainer", "usr/lib/x86_64-linux-gnu/apptainer/bin/starter"):
        _run(
            *("patchelf", "--set-interpreter", f"{LIBC}/ld-linux-x86-64.so.2"),
            *("--set-rpath", f"{LIBC}:/usr/lib/x86_64-linux-gnu", str(tree / binary)),
        )
    settings = tree / "etc/apptainer/apptainer.conf"
    # A container's root must not ask for capabilities that a virtual machine may lack.
    settings.write_text(
        settings.read_text().replace(
            "root default capabilities = full", "root default capabilities = no"
        )
    )
    for part in ("etc", "usr/lib", "usr/bin"):
        shutil.copytree(tree / part, Path("/") / part, dirs_exist_ok=True, symlinks=True)
    Path("/var/lib/apptainer/mnt/session").mkdir(parents=True, exist_ok=True)
    for name in ("/etc/subuid", "/etc/subgid"):
        ranges = Path(name)
        text = ranges.read_text() if ranges.exists() else ""
        if not text.startswith("root:") and "\nroot:" not in text:
            ranges.write_text(f"{text}root:100000:65536\n")


def _run(*command: str, cwd: Path | None = None) -> str:
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout
