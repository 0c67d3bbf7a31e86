"""Options and output that the commands on factor graphs share."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fieldcraft.cli.options import in_reading, named, panel

in_method = panel("Method")
File = Annotated[str, typer.Argument(metavar="FILE.uai", help="A graph in UAI's format.", show_default=False)]
Evidence = Annotated[
    str | None,
    in_reading("--evidence", metavar="FILE", help="Observed variables; FILE.uai.evid by default, if there."),
]
METHODS = "fieldcraft.structures.graphs.methods"


@dataclass
class Method:
    """How long and how hard to try; None for the method's own default."""

    schedule: Annotated[
        str | None,
        in_method(
            help="Of propagation: {fieldcraft.structures.graphs.propagation:SCHEDULES}.",
            **named("fieldcraft.structures.graphs.propagation", "SCHEDULES"),
        ),
    ] = None
    max_iterations: Annotated[int | None, in_method(help="Sweeps at most.", min=1)] = None
    memory: Annotated[
        str | None, in_method(metavar="SIZE", help="Most that a junction tree may take, e.g. 1GiB.")
    ] = None


def options_of(kind: str, method: str, given: Method, seed: int) -> dict[str, Any]:
    """The options of a call: those that were given, and the seed where the method has one."""
    from fieldcraft.structures.graphs.methods import option_names

    options = {name: value for name, value in vars(given).items() if value is not None}
    return options | ({"seed": seed} if "seed" in option_names(kind, method) else {})


def warn_if_unconverged(answer: Any) -> None:
    """A line on standard error; the command succeeds all the same."""
    if not answer.converged:
        print(
            f"warning: {answer.method} did not converge in {answer.iterations:,} iterations",
            file=sys.stderr,
        )


def number(value: float) -> float | None:
    """For JSON, which has neither nan nor infinity."""
    return value if math.isfinite(value) else None
