"""The image's definition, built here, and the workflow run inside it.

The base is Debian's own Python with this environment's packages, so that nothing large is downloaded. Built only where it can be: as root, with Apptainer.
"""

import re
import shutil
import subprocess
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

import pytest

from taboo.files import read_json
from taboo.provenance.records import record_path
from tests.cluster.apptainer import debian_mirror, need_apptainer
from tests.cluster.workspace import ROOT, Workspace

NOT_ON_CPU = re.compile(r"(nvidia|cuda|triton)\b")
STUDY = {"tasks": {"gsm8k": 3, "mmlu": 3}, "tokens": 4}


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """An image of the roles generate and analyse together, with torch for CPUs."""
    folder = tmp_path_factory.mktemp("image")
    need_apptainer(folder / "apptainer")
    base = folder / "base"
    run("debootstrap", "--variant=minbase", "--include=python3,python3-pip,libgomp1", "bookworm",
        str(base), debian_mirror())  # fmt: skip
    if sysconfig.get_python_version() != "3.11":
        pytest.skip("the packages of this environment are not for Debian 12's Python 3.11")
    pins = cpu_pins()
    target = base / "usr/local/lib/python3.11/dist-packages"
    for name in pins:
        copy_distribution(name, target)
    # apptainer brings its own devices
    shutil.rmtree(base / "dev")
    (base / "dev").mkdir()
    work = folder / "source"
    shutil.copytree(
        ROOT / "containers", work / "containers", ignore=shutil.ignore_patterns("*.sif")
    )
    (work / "envs").mkdir()
    (work / "envs/both.lock").write_text("".join(f"{k}=={v}\n" for k, v in pins.items()))
    path = folder / "both.sif"
    arguments = {"BOOTSTRAP": "localimage", "BASE": str(base), "ROLE": "both"}
    run(
        *("apptainer", "build", "--fakeroot", "--mksquashfs-args", "-noD -noI -noF"),
        *(part for key, value in arguments.items() for part in ("--build-arg", f"{key}={value}")),
        *(str(path), "containers/taboo.def"),
        cwd=work,
    )
    return path


def cpu_pins() -> dict[str, str]:
    """The pins of both locks without what only GPUs need."""
    text = "".join((ROOT / "envs" / f"{role}.lock").read_text() for role in ("analyse", "generate"))
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
