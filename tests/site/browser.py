"""Headless Chromium, driven by its own driver, as a browser that has no network to reach."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

_OPTIONS = (
    *("--headless", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
    *("--disable-quic", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-default-apps"),
    # Whatever a page asks of the network finds nobody.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def programs() -> tuple[str, str]:
    """Chromium and its driver, as Debian's packages chromium and chromium-driver install them; empty where there is none."""
    return shutil.which("chromium") or "", shutil.which("chromedriver") or ""


@contextmanager
def browser(
    profile: Path, width: int = 1280, height: int = 900, scheme: str = "light"
) -> Iterator[Any]:
    """A browser with a fresh profile in `profile`, a window of `width` × `height` and a colour scheme."""
    options = webdriver.ChromeOptions()
    options.binary_location, server = programs()
    for option in _OPTIONS:
        options.add_argument(option)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(server))
    try:
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme_feature = {"name": "prefers-color-scheme", "value": scheme}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme_feature]})
        yield driver
    finally:
        driver.quit()


def complaints(driver: Any) -> list[str]:
    """Errors and warnings in the console so far: scripts that failed, files refused or not there."""
    return [f"{line['level']}: {line['message']}" for line in driver.get_log("browser")]


def requested(driver: Any) -> list[str]:
    """The addresses that pages have asked for so far."""
    events = [json.loads(line["message"])["message"] for line in driver.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
