"""Debian packages that a test needs: installed if this machine allows it, else the test is skipped."""

import os
import shutil
import subprocess

import pytest


def need_root() -> None:
    """Skip the test unless it runs as root on a machine with apt."""
    if os.geteuid() != 0:
        pytest.skip("needs root: it installs packages and starts services")
    if not shutil.which("apt-get"):
        pytest.skip("needs apt-get to install packages")


def need_packages(*names: str) -> None:
    """Install what is missing of `names`, without starting its services; skip if that fails."""
    need_root()
    missing = [name for name in names if not installed(name)]
    if not missing:
        return
    environment = {
        **os.environ,
        "DEBIAN_FRONTEND": "noninteractive",
        # Services of the packages must not start with the configuration they come with.
        "RUNLEVEL": "1",
    }
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "--no-install-recommends", *missing],
    ):
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if done.returncode:
            pytest.skip(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")


def installed(name: str) -> bool:
    """Whether a Debian package is installed."""
    done = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${db:Status-Status}", name],
        capture_output=True,
        text=True,
    )
    return done.returncode == 0 and done.stdout == "installed"
