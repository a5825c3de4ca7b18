"""The images' definitions, built here, and the workflow run inside one.

The base is Debian's own Python with this environment's packages, so that nothing large is downloaded. Built only where it can be: as root, with Apptainer.
"""

import re
import shutil
import subprocess
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

import pytest

from taboo.files import read_json, sha256_file
from taboo.provenance.records import record_path
from tests.cluster.apptainer import debian_mirror, need_apptainer
from tests.cluster.packages import need_packages
from tests.cluster.workspace import ROOT, Workspace

pytestmark = pytest.mark.cluster

ROLES = ("analyse", "generate", "judge")
NOT_ON_CPU = re.compile(r"(nvidia|cuda|triton)\b")
STUDY = {"tasks": {"gsm8k": 3, "mmlu": 3}, "tokens": 4}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A folder with Debian's own Python and the packages of all roles, with torch for CPUs."""
    folder = tmp_path_factory.mktemp("image")
    need_apptainer(folder / "apptainer")
    if sysconfig.get_python_version() != "3.11":
        pytest.skip("the packages of this environment are not for Debian 12's Python 3.11")
    base = folder / "base"
    run("debootstrap", "--variant=minbase", "--include=python3,python3-pip,libgomp1", "bookworm",
        str(base), debian_mirror())  # fmt: skip
    target = base / "usr/local/lib/python3.11/dist-packages"
    for name in cpu_pins():
        copy_distribution(name, target)
    # Containers bring their own devices.
    shutil.rmtree(base / "dev")
    (base / "dev").mkdir()
    return base


@pytest.fixture(scope="module")
def source(base):
    """What images are built from: the definitions, and one lock for all roles."""
    source = base.parent / "source"
    definitions = ROOT / "containers"
    shutil.copytree(definitions, source / "containers", ignore=shutil.ignore_patterns("*.sif"))
    (source / "envs").mkdir()
    lock = "".join(f"{name}=={version}\n" for name, version in cpu_pins().items())
    (source / "envs/all.lock").write_text(lock)
    return source


@pytest.fixture(scope="module")
def image(base, source):
    """An image of all roles together."""
    path = base.parent / "all.sif"
    arguments = {"BOOTSTRAP": "localimage", "BASE": str(base), "ROLE": "all"}
    run(
        *("apptainer", "build", "--fakeroot", "--mksquashfs-args", "-noD -noI -noF"),
        *(part for key, value in arguments.items() for part in ("--build-arg", f"{key}={value}")),
        *(str(path), "containers/taboo.def"),
        cwd=source,
    )
    return path


def cpu_pins() -> dict[str, str]:
    """The pins of all locks without what only GPUs need."""
    text = "".join((ROOT / "envs" / f"{role}.lock").read_text() for role in ROLES)
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", text, flags=re.MULTILINE))
    return {name: version for name, version in pins.items() if not NOT_ON_CPU.match(name)}


def copy_distribution(name: str, target: Path) -> None:
    """Copy the files of an installed package."""
    package = distribution(name)
    for file in package.files or []:
        if ".." in file.parts or file.suffix == ".pyc":
            continue
        place = target / file
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(package.locate_file(file), place)


def run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{command[:3]}: {(done.stdout + done.stderr)[-3000:]}"
    return done.stdout + done.stderr


def test_image_passes_its_own_test(image):
    assert "packages as locked" in run("apptainer", "test", str(image))


def test_dockerfile_makes_an_image_of_the_same_packages_that_runs_as_nobody(base, source):
    need_packages("podman", "buildah", "runc")
    folder = base.parent / "podman"
    podman = ("podman", "--root", str(folder / "storage"), "--runroot", str(folder / "run"))
    archive = base.parent / "base.tar"
    run("tar", "--create", "--file", str(archive), "--directory", str(base), ".")
    run(*podman, "import", "--quiet", str(archive), "localhost/base:1")
    archive.unlink()
    try:
        run(
            *(*podman, "build", "--isolation=chroot", "--network=host", "--tag", "localhost/all:1"),
            *("--build-arg", "BASE=localhost/base:1", "--build-arg", "ROLE=all"),
            *("--file", "containers/Dockerfile", "."),
            cwd=source,
        )
        limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
        output = run(
            *(*podman, "--runtime", "runc", "run", "--rm", *limits, "--network=host"),
            *(
                "localhost/all:1",
                "sh",
                "-c",
                "id -u; python /opt/taboo/check.py /opt/taboo/lock.txt",
            ),
        )
    finally:
        run(*podman, "rmi", "--all", "--force")
    assert output.split("\n")[:2] == ["65534", f"{len(cpu_pins())} packages as locked"]


def test_workflow_runs_in_the_image(image, smollm2_path, tmp_path):
    work = Workspace(tmp_path / "work", smollm2_path, STUDY)
    for role in ("generate", "analyse"):
        (work.folder / "containers" / f"{role}.sif").symlink_to(image)
    job = work.start("--cores=2", "--sdm=apptainer", "--apptainer-args", f"--bind {smollm2_path} --bind {image.parent}",
                     "results/tables/small/cells.csv")  # fmt: skip
    assert job.wait(timeout=300) == 0, work.output[-5000:]
    record = read_json(record_path(work.results, work.results / "tables/small/cells.csv"))
    assert record["environment"]["container"] == "analyse.sif"
    assert re.fullmatch(r"[0-9a-f]{64}", record["params"]["image"])
    # The image's lock is one of this test: torch for CPUs, and no hashes.
    audit = work.taboo("audit", "tables/small/cells.csv")
    assert audit.returncode == 1
    assert "cells.csv was made in an image of a lock that is not in envs" in audit.stdout
    lock = image.parent / "source/envs/all.lock"
    shutil.copy(lock, work.folder / "envs")
    assert record["environment"]["lock"] == sha256_file(lock)
    audit = work.taboo("audit", "tables/small/cells.csv")
    assert audit.returncode == 0, audit.stdout
