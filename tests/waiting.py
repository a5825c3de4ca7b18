"""Waiting for what happens elsewhere."""

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], object], seconds: float) -> object:
    """Poll until `condition` is true and return what it gave; TimeoutError after `seconds`."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"{condition} did not come true in {seconds} s")
        time.sleep(0.05)
    return result
