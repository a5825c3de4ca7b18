"""Loading from the hub, against a server on this machine that answers as the hub does."""

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from taboo.tasks import load_task
from taboo.tasks.sampling import digest, load_items

REVISION = "0123456789abcdef0123456789abcdef01234567"
MIRRORED = {
    "gsm8k": "main/test-00000-of-00001.parquet",
    "mmlu": "all/test-00000-of-00001.parquet",
    "triviaqa": "rc.wikipedia.nocontext/validation-00000-of-00001.parquet",
    "humaneval": "openai_humaneval/test-00000-of-00001.parquet",
    "ifeval": "ifeval_input_data.jsonl",
}


@pytest.fixture(scope="module")
def hub(root):
    """The demo items as data sets of a hub: its address, and the requests it got."""
    files = {}
    for name, path in MIRRORED.items():
        task = load_task(name)
        items = load_items(task, root / "config" / "demo_items")
        files[task.hub.dataset] = _as_published(name, path, items)
    requests = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(files, requests))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", requests
    server.shutdown()


def _as_published(name, path, items):
    """The files of a data set: two parquet parts and files of other splits, or JSON lines."""
    records = [{k: v for k, v in item.items() if k != "item_id"} for item in items]
    if name == "triviaqa":
        records = [{**record, "entity_pages": [], "search_results": []} for record in records]
    if name == "ifeval":
        keys = {key for record in records for entry in record["kwargs"] for key in entry}
        for record in records:
            record["kwargs"] = [{**dict.fromkeys(keys), **entry} for entry in record["kwargs"]]
            for entry in record["kwargs"]:
                if entry.get("num_words"):
                    entry["num_words"] = float(entry["num_words"])
        text = "".join(json.dumps(record) + "\n" for record in records)
        return {path: text.encode(), "README.md": b"x"}
    first, second = path, path.replace("00000-of-00001", "00001-of-00002")
    half = len(records) // 2
    return {
        first: _parquet(records[:half]),
        second: _parquet(records[half:]),
        path.replace("test-", "train-").replace("validation-", "train-"): _parquet(records[:1]),
        ".gitattributes": b"x",
    }


def _parquet(records):
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(records), buffer)
    return buffer.getvalue()


def _handler(files, requests):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            path = unquote(urlsplit(self.path).path)
            for dataset, contents in files.items():
                if path.startswith(f"/api/datasets/{dataset}/tree/{REVISION}"):
                    entries = [
                        {"type": "file", "path": name, "size": len(data), "oid": "0"}
                        for name, data in contents.items()
                    ]
                    return self._send(json.dumps(entries).encode(), "application/json")
                if path.startswith(f"/api/datasets/{dataset}/revision/{REVISION}"):
                    info = {
                        "id": dataset,
                        "sha": REVISION,
                        "siblings": [{"rfilename": name} for name in contents],
                    }
                    return self._send(json.dumps(info).encode(), "application/json")
                start = f"/datasets/{dataset}/resolve/{REVISION}/"
                if path.startswith(start) and path.removeprefix(start) in contents:
                    return self._send(
                        contents[path.removeprefix(start)], "application/octet-stream"
                    )
            self.send_response(404)
            self.send_header("X-Error-Code", "RevisionNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET

        def _send(self, data, kind):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
            self.send_header("X-Repo-Commit", REVISION)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

        def log_message(self, *arguments):
            pass

    return Handler


def fetch(root, home, endpoint, name, revision=REVISION, offline=False):
    """Load a task's items from the hub in a process that knows nothing but its address."""
    code = (
        "import json, sys\nfrom taboo.tasks import load_task\n"
        "from taboo.tasks.sampling import load_items\n"
        f"print(json.dumps(load_items(load_task({name!r}), revision={revision!r})))"
    )
    environment = {
        **{key: value for key, value in os.environ.items() if "proxy" not in key.lower()},
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": "1" if offline else "0",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    return subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("name", MIRRORED)
def test_the_hub_gives_the_same_items_as_a_mirror(root, tmp_path, hub, name):
    """Same records, same order, same digest: null padding, float counts and unused fields go."""
    done = fetch(root, tmp_path, hub[0], name)
    assert done.returncode == 0, done.stderr
    mirrored = load_items(load_task(name), root / "config" / "demo_items")
    assert json.loads(done.stdout) == mirrored
    assert digest(json.loads(done.stdout)) == digest(mirrored)
    assert not any("train-" in request for request in hub[1])


def test_an_unknown_revision_says_what_to_do(root, tmp_path, hub):
    done = fetch(root, tmp_path, hub[0], "gsm8k", revision="f" * 40)
    assert done.returncode != 0
    assert f"hub data set openai/gsm8k at {'f' * 40} can't be fetched" in done.stderr
    assert "set `mirror` to a folder with gsm8k/test.jsonl" in done.stderr


def test_no_network_says_what_to_do(root, tmp_path):
    done = fetch(root, tmp_path, "http://127.0.0.1:9", "mmlu", offline=True)
    assert done.returncode != 0
    assert "set `mirror` to a folder with mmlu/test.jsonl" in done.stderr


@pytest.mark.parametrize("name", MIRRORED)
def test_the_pins_are_full_commits(name):
    task = load_task(name)
    assert len(task.hub.revision) == 40
    assert set(task.hub.revision) <= set("0123456789abcdef")
