"""What a job ran on and what it used: the facts of a record that may differ between two equal runs."""

import ctypes
import os
import platform
import resource
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from taboo.files import sha256_file

IMAGE_LOCK = Path("/opt/taboo/lock.txt")
"""Where the images of containers/ keep their lock."""


def installed(packages: list[str]) -> dict[str, str | None]:
    """The installed version of each package, None where it is not installed."""
    found: dict[str, str | None] = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def container() -> str | None:
    """The image that this process runs in, by its file name; None outside of one."""
    image = os.environ.get("APPTAINER_CONTAINER") or os.environ.get("SINGULARITY_CONTAINER")
    return Path(image).name if image else None


def image_lock() -> str | None:
    """sha256 of the lock that this process's image was built from; None outside of one.

    It names every package with its hashes, and the image's build and test hold what is installed against it.
    """
    return sha256_file(IMAGE_LOCK) if IMAGE_LOCK.is_file() else None


class Usage:
    """Time, memory and energy from now until `facts` is called."""

    def __init__(self) -> None:
        self.started = time.time()
        self._clock = time.monotonic()
        self._energy = gpu_energy_mj()

    def facts(self) -> dict[str, Any]:
        """Seconds since 1970 at the start, seconds taken, MB at the peak, joules of all visible GPUs (None without a counter), host, GPU, job and the code's commit."""
        energy = gpu_energy_mj()
        used = None
        if energy is not None and self._energy is not None:
            used = round((energy - self._energy) / 1000, 3)
        return {
            "started": self.started,
            "seconds": round(time.monotonic() - self._clock, 3),
            "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "energy_j": used,
            "host": platform.node(),
            "machine": {
                "system": platform.platform(),
                "processor": _processor(),
                "cores": os.cpu_count(),
            },
            "gpu": _gpu(),
            "slurm_job": os.environ.get("SLURM_JOB_ID"),
            "code": commit(),
        }


def commit() -> dict[str, Any] | None:
    """The commit of this code and whether it was changed since; None outside a git checkout."""
    root = Path(__file__).parent
    try:
        found, status = (
            subprocess.run(
                ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
            ).stdout.strip()
            for arguments in (["rev-parse", "HEAD"], ["status", "--porcelain"])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return {"commit": found, "changed": bool(status)}


def gpu_energy_mj() -> int | None:
    """The energy counters of the GPUs that this process may use, summed, in mJ since their driver was loaded.

    None where there is no NVIDIA driver or a GPU has no counter (before Volta).
    """
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    if nvml.nvmlInit_v2() != 0:
        return None
    try:
        count = ctypes.c_uint()
        nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        named = os.environ.get("CUDA_VISIBLE_DEVICES")
        chosen = named.split(",") if named else [str(i) for i in range(count.value)]
        total = 0
        for name in chosen:
            device, energy = ctypes.c_void_p(), ctypes.c_ulonglong()
            failed = (
                nvml.nvmlDeviceGetHandleByIndex_v2(int(name), ctypes.byref(device))
                if name.isdigit()
                else nvml.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(device))
            )
            if failed or nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(energy)):
                return None
            total += energy.value
        return total
    finally:
        nvml.nvmlShutdown()


def _gpu() -> dict[str, Any] | None:
    """The GPU that torch used, if torch was loaded and had one."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return {
        "name": torch.cuda.get_device_name(),
        "count": torch.cuda.device_count(),
        "cuda": torch.version.cuda,
        "peak_memory_mb": torch.cuda.max_memory_allocated() // 2**20,
    }


def _processor() -> str | None:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or None
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()
