"""One workflow at a time on a results folder, from whichever working copy it was started."""

import fcntl
import os
import socket
import time
from pathlib import Path
from typing import IO


class ResultsInUse(RuntimeError):
    """Another workflow runs on the results folder."""


def hold(results: str | Path) -> IO[str]:
    """Hold a results folder until the returned file is closed or the process ends.

    Raises ResultsInUse naming the holder, and OSError saying what to do if the folder can't be written.
    """
    path = Path(results) / ".running"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "a+", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise OSError(
            f"{results} can't be written ({error.strerror}): make it writable, or name another "
            "folder with `snakemake --config results=FOLDER`"
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "another workflow"
        file.close()
        raise ResultsInUse(
            f"{results} is in use by {holder}. Wait until it has finished, or stop it first."
        ) from None
    file.truncate(0)
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    file.write(f"process {os.getpid()} on {socket.gethostname()} in {Path.cwd()}, since {since}")
    file.flush()
    return file
