"""A Slurm of one node on loopback, with one pretended A100, for tests.

Its keys, spool, logs and pid files lie in a folder of its own. Only one symlink is outside: Snakemake's job step drops SLURM_CONF before its inner srun, so the configuration must be found at /etc/slurm/slurm.conf.
"""

import getpass
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

from tests.waiting import wait_for

PACKAGES = ("munge", "slurmctld", "slurmd", "slurm-client")
SYSTEM_CONFIG = Path("/etc/slurm/slurm.conf")
MEMORY_CONTROLLER = Path("/sys/fs/cgroup/memory")


class Slurm:
    """Starts the daemons on entry and stops them, by process id, on exit.

    Attributes:
        limits_memory: whether jobs are held to the memory they asked for (needs the memory cgroup).
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.limits_memory = os.access(MEMORY_CONTROLLER, os.W_OK)

    def __enter__(self) -> "Slurm":
        for name in ("run", "log", "spool", "state"):
            (self.folder / name).mkdir(parents=True)
        self._write_configuration()
        SYSTEM_CONFIG.parent.mkdir(exist_ok=True)
        SYSTEM_CONFIG.symlink_to(self.folder / "slurm.conf")
        try:
            self._start_munge()
            for daemon in ("slurmctld", "slurmd"):
                # Other configuration files are looked for beside the one that this names.
                environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
                subprocess.run([daemon], check=True, capture_output=True, env=environment)
            wait_for(
                lambda: self("sinfo", "-h", "-p", "cpu", "-o", "%t", check=False) == "idle", 30
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in ("slurmd", "slurmctld", "munged"):
            stop(self.folder / "run" / f"{daemon}.pid", daemon)
        if SYSTEM_CONFIG.is_symlink() and SYSTEM_CONFIG.readlink() == self.folder / "slurm.conf":
            SYSTEM_CONFIG.unlink()

    def __call__(self, *command: str, check: bool = True) -> str:
        """The output of a Slurm command."""
        done = subprocess.run(command, capture_output=True, text=True)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
        return done.stdout.strip()

    def job(self, number: str) -> dict[str, str]:
        """What Slurm knows of a job, running or ended."""
        return dict(re.findall(r"(\S+?)=(\S*)", self("scontrol", "show", "job", number)))

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        run = self.folder / "run"
        subprocess.run(
            [
                "munged",
                "--force",
                f"--key-file={key}",
                f"--socket={run / 'munge.socket'}",
                f"--pid-file={run / 'munged.pid'}",
                f"--log-file={self.folder / 'log' / 'munged.log'}",
                f"--seed-file={self.folder / 'munge.seed'}",
            ],
            check=True,
            capture_output=True,
        )
        wait_for((run / "munge.socket").exists, 10)

    def _write_configuration(self) -> None:
        run, host = self.folder / "run", socket.gethostname().split(".")[0]
        kind = "cgroup" if self.limits_memory else "none"
        settings = {
            "ClusterName": "test",
            "SlurmctldHost": f"{host}(127.0.0.1)",
            "SlurmUser": getpass.getuser(),
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={run / 'munge.socket'}",
            "ProctrackType": "proctrack/cgroup" if self.limits_memory else "proctrack/linuxproc",
            "TaskPlugin": f"task/{kind}",
            "JobAcctGatherType": "jobacct_gather/none",
            "AccountingStorageType": "accounting_storage/none",
            "SwitchType": "switch/none",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core_Memory",
            "SchedulerParameters": "sched_interval=1,bf_interval=1,batch_sched_delay=0",
            "SlurmctldPort": free_port(),
            "SlurmdPort": free_port(),
            "SlurmctldPidFile": run / "slurmctld.pid",
            "SlurmdPidFile": run / "slurmd.pid",
            "SlurmctldLogFile": self.folder / "log" / "slurmctld.log",
            "SlurmdLogFile": self.folder / "log" / "slurmd.log",
            "SlurmdSpoolDir": self.folder / "spool",
            "StateSaveLocation": self.folder / "state",
            # The node may claim more than this machine has.
            "SlurmdParameters": "config_overrides",
            "ReturnToService": 2,
            "MinJobAge": 3600,
            "KillWait": 2,
            "GresTypes": "gpu",
            "NodeName": f"node NodeHostname={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory=65536 "
            "Gres=gpu:a100:1",
        }
        lines = [f"{key}={value}" for key, value in settings.items()]
        lines += [
            "PartitionName=cpu Nodes=node Default=YES MaxTime=1-0",
            "PartitionName=gpu Nodes=node MaxTime=1-0",
        ]
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n")
        # A GPU without a device file counts as none; any device will do, for nothing opens it.
        (self.folder / "gres.conf").write_text("Name=gpu Type=a100 File=/dev/zero\n")
        (self.folder / "cgroup.conf").write_text(
            "CgroupAutomount=no\nConstrainRAMSpace=yes\nConstrainSwapSpace=yes\n"
        )


def stop(pid_file: Path, name: str) -> None:
    """End the daemon of a pid file, if that process is still the daemon."""
    try:
        pid = int(pid_file.read_text())
        if Path(f"/proc/{pid}/comm").read_text().strip() != name:
            return
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not Path(f"/proc/{pid}").exists(), 15)
    except (FileNotFoundError, ProcessLookupError):
        return
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)


def free_port() -> int:
    """A TCP port on loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
