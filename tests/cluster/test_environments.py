"""The locks agree with the pins and with what the project says that it needs."""

import re
import tomllib

import pytest
import yaml

from taboo.provenance.sources import pinned_packages
from tests.conftest import ROOT

ROLES = ("analyse", "generate", "judge")
RULE = re.compile(
    r'CONTAINERS\["(?P<role>\w+)"\]\n(?:(?!container:).*\n)*? +"\.\./(?P<script>scripts/\w+\.py)"'
)
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    return {
        canonical(name): version
        for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, flags=re.MULTILINE)
    }


@pytest.mark.parametrize("role", ROLES)
def test_lock_has_a_hash_for_every_pin(root, role):
    entries = re.split(r"\n(?=\S)", (root / "envs" / f"{role}.lock").read_text())
    entries = [entry for entry in entries if not entry.startswith("#")]
    assert len(entries) > 20
    assert [entry.split()[0] for entry in entries if not HASH.search(entry)] == []


@pytest.mark.parametrize("role", ROLES)
def test_lock_holds_what_the_role_needs_at_the_versions_of_the_constraints(root, role):
    locked = pins((root / "envs" / f"{role}.lock").read_text())
    constraints = pins((root / "envs" / "constraints.txt").read_text())
    needed = {canonical(line) for line in (root / "envs" / f"{role}.txt").read_text().split("\n")
              if line and not line.startswith("#")}  # fmt: skip
    assert needed - locked.keys() == set()
    assert needed - constraints.keys() == set()
    differing = {name for name in locked.keys() & constraints.keys()
                 if locked[name] != constraints[name]}  # fmt: skip
    assert differing == set()


@pytest.mark.parametrize("role", ROLES)
def test_conda_environment_holds_the_pins_of_the_lock(root, role):
    environment = yaml.safe_load((root / "envs" / f"{role}.yaml").read_text())
    [listed] = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert pins("\n".join(listed)) == pins((root / "envs" / f"{role}.lock").read_text())


def test_every_dependency_of_the_package_is_locked(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    needed = {canonical(re.match(r"[\w.-]+", text)[0]) for text in project["dependencies"]}
    locked = {name for role in ROLES for name in pins((root / "envs" / f"{role}.lock").read_text())}
    assert needed - locked == set()


def scripts() -> list[tuple[str, str]]:
    """The rules' scripts, each with the role that it runs in."""
    text = "".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.smk")))
    return sorted({(match["script"], match["role"]) for match in RULE.finditer(text)})


@pytest.mark.parametrize(("script", "role"), scripts())
def test_what_a_script_imports_is_locked_for_its_role(root, script, role):
    """Wherever in the library it is imported: a package missing in an image is found there too late."""
    needed = set(pinned_packages(root, script))
    assert needed - pins((root / "envs" / f"{role}.lock").read_text()).keys() == set()


def test_every_script_runs_in_a_role(root):
    # The judge's rule chooses its role by its provider.
    everything = {f"scripts/{path.name}" for path in (root / "scripts").glob("*.py")}
    assert everything - {script for script, _ in scripts()} == {
        "scripts/job.py",
        "scripts/judge.py",
    }


def test_what_a_remote_judge_imports_is_locked_for_its_role(root):
    files = ("access", "gemini", "openai_compatible", "remote", "replies", "run", "settings")
    needed = set(pinned_packages(root, "taboo/cells.py", *(f"taboo/judge/{n}.py" for n in files)))
    needed |= {"openai", "google-genai"}  # by their names, only where they are used
    assert needed - pins((root / "envs/judge.lock").read_text()).keys() == set()


def test_generate_is_locked_with_the_cuda_build_of_torch(root):
    locked = pins((root / "envs" / "generate.lock").read_text())
    assert {"torch", "bitsandbytes", "accelerate", "nvidia-cuda-runtime"} <= locked.keys()
