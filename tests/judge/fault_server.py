"""A judge's endpoint on loopback that speaks both remote formats and can misbehave in scripted ways."""

import json
import re
import threading
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "judge-1"


class FaultServer(ThreadingHTTPServer):
    """Answers each request by the next of `steps`, and well once there are none.

    A step is a status code, a reply's text in a tuple, or one of the words that `_Handler.misbehave` knows. A good judge answers `<code> RIGHT`. `seen` has the headers (names in lower case) and the parsed body of every request, `most_at_once` how many were under way together.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.steps: deque[Any] = deque()
        self.seen: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.most_at_once = self.under_way = 0
        self.pause_s = 0.0
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is expected here."""


class _Handler(BaseHTTPRequestHandler):
    server: FaultServer

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.seen.append((headers, body))
            server.under_way += 1
            server.most_at_once = max(server.most_at_once, server.under_way)
            step = server.steps.popleft() if server.steps else None
        try:
            time.sleep(server.pause_s)
            self.misbehave(step, body)
        finally:
            with server.lock:
                server.under_way -= 1

    def misbehave(self, step: Any, body: dict[str, Any]) -> None:
        gemini = self.path.endswith(":generateContent")
        prompt = (
            body["contents"][0]["parts"][0]["text"] if gemini else body["messages"][0]["content"]
        )
        codes = re.findall(r"^Verdict on (\w+):$", prompt, re.MULTILINE)
        text = step[0] if isinstance(step, tuple) else f"{codes[-1] if codes else 'none'} RIGHT"
        model = "another-model" if step == "other model" else MODEL
        good = _gemini(text, model) if gemini else _openai(text, model)
        key = self.headers.get("x-goog-api-key") or self.headers.get("Authorization", "")
        if isinstance(step, int):
            error = {"code": step, "message": f"status {step} for the key {key}", "status": "X"}
            self.send(json.dumps({"error": error}), status=step, headers={"Retry-After": "0.2"})
        elif step == "slow":
            time.sleep(3)
        elif step == "drip":
            self.send_head(200, 1000)
            for _ in range(30):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.1)
        elif step == "cut":
            self.send_head(200, 1000)
            self.wfile.write(json.dumps(good).encode()[:40])
        elif step == "no answer":
            self.close_connection = True
        elif step == "bad json":
            self.send(json.dumps(good)[:-20])
        elif step == "web page":
            self.send("<html>Please log in</html>", kind="text/html")
        elif step == "another shape":
            self.send('{"hello": [1, 2]}')
        elif step == "echo key":
            self.send(json.dumps(_gemini(key, model) if gemini else _openai(key, model)))
        elif step == "no usage":
            good.pop("usageMetadata" if gemini else "usage")
            self.send(json.dumps(good))
        elif step == "blocked":
            self.send(
                json.dumps(
                    {
                        "promptFeedback": {"blockReason": "SAFETY"},
                        "modelVersion": MODEL,
                        "usageMetadata": {"promptTokenCount": 50},
                    }
                )
            )
        else:
            self.send(json.dumps(good))

    def send(
        self,
        text: str,
        status: int = 200,
        kind: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_head(status, len(text.encode()), kind, headers or {})
        self.wfile.write(text.encode())

    def send_head(
        self,
        status: int,
        length: int,
        kind: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()


def _openai(text: str, model: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
    }


def _gemini(text: str, model: str) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": text}]}
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 3, "thoughtsTokenCount": 2}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "modelVersion": model,
        "usageMetadata": {**usage, "totalTokenCount": 105},
    }
