"""`taboo lock`: write the commit and the file digests of every model and data set of the hub to models.lock.yaml."""

import argparse

from taboo.commands.configuration import add_config_option, configuration
from taboo.hub import HubError, is_taken, look_up
from taboo.lock import LOCK, hub_datasets, hub_models, read_lock, write_lock


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "lock", help="pin models and data sets of the hub: commits and digests"
    )
    add_config_option(parser)
    parser.add_argument(
        "--update", action="store_true", help="look up again what is locked; without it, it is kept"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Lock the models and data sets of the studies to run; exit status 1 if the hub did not give all of them.

    The lock is written after each of them, so what was looked up before an error stays.
    """
    config = configuration(options.config, locked=False)
    lock = read_lock(LOCK)
    failed = []
    named = {
        name: (m["source"].get("revision"), is_taken) for name, m in hub_models(config).items()
    }
    named |= {name: (data.revision, data.takes) for name, data in hub_datasets(config).items()}
    for repository, (wanted, taken) in sorted(named.items()):
        known = lock.get(repository)
        if known and not options.update and wanted in (None, known["revision"]):
            print(f"kept    {repository} {known['revision']}")
            continue
        try:
            lock[repository] = look_up(repository, wanted, taken)
        except HubError as error:
            failed.append(str(error))
            continue
        write_lock(LOCK, lock)
        files = lock[repository]["files"].values()
        size = sum(file["size"] for file in files) / 1e9
        revision = lock[repository]["revision"]
        print(f"locked  {repository} {revision}, {len(files)} files, {size:.1f} GB")
    for message in failed:
        print(f"failed  {message}")
    return 1 if failed else 0
