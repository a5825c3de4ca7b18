"""Endpoints on loopback, and property tests independent of the machine's speed."""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.judge.fault_server import FaultServer

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture
def fault_server() -> Iterator[FaultServer]:
    """An endpoint that misbehaves by script."""
    with FaultServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def served(smollm2_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `transformers serve` with SmolLM2-135M-Instruct, an independent implementation of the API."""
    pytest.importorskip("fastapi", reason="transformers serve needs fastapi and uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("served") / "log"
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(smollm2_path)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "2"}
    with open(log, "wb") as output:
        server = subprocess.Popen(command, env=offline, stdout=output, stderr=output)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            if server.poll() is not None:
                pytest.fail(f"transformers serve ended: {log.read_text()[-2000:]}")
            try:
                urllib.request.urlopen(f"{address}/health", timeout=2)
                break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.fail(f"transformers serve did not start: {log.read_text()[-2000:]}")
        yield address
    finally:
        server.terminate()
        server.wait(20)
