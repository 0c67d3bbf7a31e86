"""`fieldcraft demo`: a demonstration in a few seconds, without any file."""

from __future__ import annotations

from fieldcraft.cli.options import Jobs, Quiet, Seed

EXAMPLES = ["fieldcraft demo"]


def demo(*, jobs: Jobs = None, seed: Seed = 0, quiet: Quiet = False) -> None:
    """Learn to read postal addresses in a few seconds, from synthetic data that comes along."""
    del quiet
    from fieldcraft.cli.demonstration import demonstrate

    demonstrate(jobs, seed)
