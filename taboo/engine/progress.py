"""Progress of a generation: a bar on a terminal, plain lines in a log."""

import logging
import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

_LOG = logging.getLogger(__name__)
LOG_SECONDS = 30.0
"""Time between two lines in a log."""


class Progress:
    """Shows how many of `total` requests are done, tokens per second and the time left.

    On a terminal it is a bar on stderr, otherwise a line to the log `taboo.engine.progress` every 30 seconds. With `shown` false it is silent.
    """

    def __init__(self, total: int, shown: bool):
        self._total = total
        self._started = self._last = time.monotonic()
        self._log = shown and not sys.stderr.isatty()
        self._bar: Bar | None = None
        if shown and sys.stderr.isatty():
            columns = (
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]} tokens/s"),
                TimeRemainingColumn(),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=total, rate="-")

    def __enter__(self) -> "Progress":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, done: int, tokens: int) -> None:
        """Report `done` requests and `tokens` generated so far."""
        if not self._bar and not self._log:
            return
        now = time.monotonic()
        rate = tokens / max(now - self._started, 1e-9)
        if self._bar:
            self._bar.update(self._task, completed=done, rate=f"{rate:.0f}")
        elif now - self._last >= LOG_SECONDS:
            self._last = now
            left = (now - self._started) * (self._total - done) / done if done else None
            _LOG.info(
                "%d of %d generations, %.0f tokens/s, %s left",
                done,
                self._total,
                rate,
                "unknown time" if left is None else f"about {left:.0f} s",
            )
