"""A server on this machine that answers as the hub does, and with the faults it is told."""

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parent.parent
TOKEN = "hf_secret_of_this_test"


@dataclass
class Hub:
    """`files` by repository (`org/name`, or `datasets/org/name`), `commit` of all of them, `gated` repositories, and faults.

    `wrong` serves other bytes of the same length under these names, `gone` answers that there is no such file, `cut` closes the connection in the middle of these files (once each), `slow` sends the first half and nothing more for `pause` seconds (once each). `granted` is whether the account of TOKEN has accepted the licences. `requests` are the paths that were asked for, `ranges` where each download of a part of a file began.
    """

    files: dict[str, dict[str, bytes]]
    commit: str = "0123456789abcdef0123456789abcdef01234567"
    gated: set[str] = field(default_factory=set)
    granted: bool = True
    wrong: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    slow: set[str] = field(default_factory=set)
    pause: float = 5.0
    requests: list[str] = field(default_factory=list)
    ranges: list[tuple[str, int]] = field(default_factory=list)
    endpoint: str = ""

    def python(self, home: Path, code: str, token: str | None = None, **environment: str):
        """Run `code` in a process that knows nothing of the hub but its address."""
        settings = self.environment(home, token, **environment)
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, cwd=home, env=settings, capture_output=True, text=True, check=False
        )

    def environment(self, home: Path, token: str | None = None, **more: str) -> dict[str, str]:
        """The environment of such a process."""
        kept = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
        kept.pop("HF_TOKEN", None)
        settings = {
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(home / "hub-home"),
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "PYTHONPATH": str(ROOT),
            **({"HF_TOKEN": token} if token else {}),
        }
        return {**kept, **settings, **more}


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve `hub` and set its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def sha256(data: bytes) -> str:
    """Hex digest."""
    return hashlib.sha256(data).hexdigest()


def git_id(data: bytes) -> str:
    """What git calls a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.requests.append(path)
            token = self.headers.get("Authorization")
            if token not in (None, f"Bearer {TOKEN}"):
                return self._refuse(401, "", "Invalid credentials in Authorization header")
            if path.startswith("/api/"):
                repository, _, revision = path.removeprefix("/api/").partition("/revision/")
                return self._info(repository.removeprefix("models/"), revision)
            repository, _, rest = path.strip("/").partition("/resolve/")
            revision, _, name = rest.partition("/")
            return self._file(repository, revision, name)

        do_HEAD = do_GET

        def _info(self, repository: str, revision: str) -> None:
            if repository not in hub.files:
                return self._refuse(401, "RepoNotFound")
            if revision not in ("", hub.commit):
                return self._refuse(404, "RevisionNotFound")
            siblings = []
            for name, data in hub.files[repository].items():
                entry = {"rfilename": name, "size": len(data), "blobId": git_id(data)}
                if name.endswith((".safetensors", ".parquet")):
                    entry["lfs"] = {"sha256": sha256(data), "size": len(data), "pointerSize": 130}
                siblings.append(entry)
            name = repository.removeprefix("datasets/")
            info = {"id": name, "sha": hub.commit, "siblings": siblings}
            self._send(json.dumps(info).encode(), "application/json")

        def _file(self, repository: str, revision: str, name: str) -> None:
            token = self.headers.get("Authorization")
            if repository in hub.gated and token != f"Bearer {TOKEN}":
                return self._refuse(401, "GatedRepo")
            if repository in hub.gated and not hub.granted:
                return self._refuse(403, "GatedRepo")
            if revision != hub.commit:
                return self._refuse(404, "RevisionNotFound")
            data = hub.files[repository].get(name)
            if data is None or name in hub.gone:
                return self._refuse(404, "EntryNotFound")
            self._send(data[::-1] if name in hub.wrong else data, "application/octet-stream", name)

        def _send(self, data: bytes, kind: str, name: str = "") -> None:
            start = 0
            if asked := self.headers.get("Range"):
                start = int(asked.removeprefix("bytes=").rstrip("-"))
                hub.ranges.append((name, start))
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            else:
                self.send_response(200)
            body = data[start:]
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{git_id(data)}"')
            self.send_header("X-Repo-Commit", hub.commit)
            self.end_headers()
            if self.command == "GET":
                if name in hub.cut:
                    hub.cut.discard(name)
                    body = body[: len(body) // 2]
                    self.close_connection = True
                self.wfile.write(body[: len(body) // 2])
                if name in hub.slow:
                    hub.slow.discard(name)
                    self.wfile.flush()
                    time.sleep(hub.pause)
                    self.close_connection = True
                    return
                self.wfile.write(body[len(body) // 2 :])

        def _refuse(self, status: int, code: str, message: str = "") -> None:
            self.send_response(status)
            if code:
                self.send_header("X-Error-Code", code)
            self.send_header("X-Error-Message", message or code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    return Handler
