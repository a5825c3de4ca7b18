"""`taboo lock`, against a hub on this machine."""

import pytest

from taboo.lock import read_lock
from taboo.tasks import load_task
from tests.hub_server import Hub, serving, sha256

WEIGHTS = {"config.json": b"{}", "model.safetensors": bytes(1000), "x.bin": b"not taken"}
GSM8K = load_task("gsm8k").hub
DATA = {"main/test-0.parquet": bytes(99), "main/train-0.parquet": b"not read", "README.md": b"x"}
LOCK = "import sys\nfrom taboo.cli import main\nsys.exit(main({arguments}))"


@pytest.fixture
def hub(repository):
    """A hub with two models that the configuration names."""
    with serving(Hub({"org/one": WEIGHTS, "org/two": WEIGHTS})) as hub:
        tiny = repository.settings["models"]["tiny"]
        for name in ("one", "two"):
            repository.settings["models"][name] = {**tiny, "source": {"hub": f"org/{name}"}}
        repository.settings["studies"]["one"]["models"] = ["tiny", "one", "two"]
        repository.settings["mirror"] = "items"
        repository.write()
        yield hub


def lock(hub, repository, *arguments):
    return hub.python(repository.folder, LOCK.format(arguments=["lock", *arguments]))


def test_locks_what_the_studies_use_keeps_it_and_updates_it(hub, repository):
    done = lock(hub, repository)
    assert done.returncode == 0, done.stderr
    assert f"locked  org/one {hub.commit}, 2 files, 0.0 GB" in done.stdout
    digests = {name: sha256(WEIGHTS[name]) for name in ("config.json", "model.safetensors")}
    files = {name: {"sha256": d, "size": len(WEIGHTS[name])} for name, d in digests.items()}
    first = {"revision": hub.commit, "files": files}
    assert read_lock("models.lock.yaml") == {"org/one": first, "org/two": first}

    hub.commit = "a" * 40
    hub.requests.clear()
    assert "kept    org/one 0123" in lock(hub, repository).stdout
    assert hub.requests == []
    assert "locked  org/two aaaa" in lock(hub, repository, "--update").stdout
    assert read_lock("models.lock.yaml")["org/one"] == {"revision": "a" * 40, "files": files}


def test_what_one_model_lacks_does_not_keep_the_others_from_being_locked(hub, repository):
    hub.gated.add("org/one")
    done = lock(hub, repository)
    assert done.returncode == 1
    assert "failed  org/one is gated: accept its licence at" in done.stdout
    assert list(read_lock("models.lock.yaml")) == ["org/two"]


def test_a_small_file_that_is_not_what_the_hub_says_is_refused(hub, repository):
    hub.wrong.add("config.json")
    done = lock(hub, repository)
    assert done.returncode == 1
    assert "org/two: config.json is not what the hub says of it" in done.stdout
    assert read_lock("models.lock.yaml") == {}


def test_the_commit_that_the_configuration_names_is_locked(hub, repository):
    repository.settings["models"]["one"]["source"]["revision"] = "b" * 40
    repository.write()
    assert f"org/one has no commit {'b' * 40}" in lock(hub, repository).stdout
    hub.commit = "b" * 40
    lock(hub, repository, "--update")
    assert read_lock("models.lock.yaml")["org/one"]["revision"] == "b" * 40


def test_the_data_sets_of_the_studies_are_locked_at_the_commits_that_their_tasks_name(
    hub, repository
):
    hub.files = {f"datasets/{GSM8K.dataset}": DATA}
    hub.commit = GSM8K.revision
    repository.settings["studies"]["one"]["models"] = ["tiny"]
    repository.settings["mirror"] = None
    repository.write()
    done = lock(hub, repository)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"locked  datasets/openai/gsm8k {GSM8K.revision}, 1 files" in done.stdout
    data = DATA["main/test-0.parquet"]
    files = {"main/test-0.parquet": {"sha256": sha256(data), "size": len(data)}}
    assert read_lock("models.lock.yaml") == {
        "datasets/openai/gsm8k": {"revision": GSM8K.revision, "files": files}
    }
    repository.settings["mirror"] = "items"
    repository.write()
    hub.requests.clear()
    lock(hub, repository, "--update")
    assert hub.requests == []
