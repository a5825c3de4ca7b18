"""A decode step of unchanging shape, which a GPU runs as one captured graph."""

from collections.abc import Callable, Sequence

import torch

Run = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
_WARM_UPS = 3
"""Runs before a capture, in which libraries allocate what they keep."""


class FixedStep:
    """Calls `run(ids [rows, 1], at [rows], offsets [rows])` on buffers that stay where they are.

    With `capture`, the first call records a CUDA graph and every call replays it, which spares launching each kernel from Python; otherwise `run` is called. The result is overwritten by the next call.
    """

    def __init__(self, run: Run, rows: int, device: torch.device, capture: bool):
        self._run = run
        self._buffers = torch.zeros(3, rows, dtype=torch.int64, device=device)
        self._capture = capture
        self._graph: torch.cuda.CUDAGraph | None = None
        self._logits: torch.Tensor | None = None

    def __call__(
        self, ids: Sequence[int], at: Sequence[int], offsets: Sequence[int]
    ) -> torch.Tensor:
        """Logits [rows, V] of one step."""
        self._buffers.copy_(torch.tensor([ids, at, offsets]))
        if not self._capture:
            return self._forward()
        if self._graph is None:
            self._record()
        assert self._graph is not None
        assert self._logits is not None
        self._graph.replay()
        return self._logits

    def _forward(self) -> torch.Tensor:
        ids, at, offsets = self._buffers
        return self._run(ids[:, None], at, offsets)

    def _record(self) -> None:
        # Running the step writes this step's keys and values, and writes the same ones again.
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UPS):
                self._forward()
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._logits = self._forward()
