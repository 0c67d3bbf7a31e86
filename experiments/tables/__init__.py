"""The tables and figures of chapters 4 to 8, a file each; a file defines TABLE or FIGURE."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from experiments.cooperation_figures import CooperationFigure
from experiments.table import Contrast, Figure, Table

Any = Table | Contrast | Figure | CooperationFigure


def names() -> list[str]:
    """What can be run, in the order of the thesis: tables, then figures."""
    found = [path.stem for path in Path(__file__).parent.glob("*_[0-9]*.py")]
    return [
        f"{kind}-{a}.{b}" for kind, a, b in sorted(map(_parts, found), key=lambda p: (p[0] != "table", p))
    ]


def load(name: str) -> Any:
    """The table or figure of a name such as table-5.3, figure-4.1 or 5.3 (a table)."""
    known = names()
    wanted = name if name in known else f"table-{name}"
    if wanted not in known:
        raise SystemExit(f"{name!r} is not known; choose one of {', '.join(known)}")
    module = import_module(f"experiments.tables.{re.sub(r'[-.]', '_', wanted)}")
    found: Any = module.TABLE if wanted.startswith("table") else module.FIGURE
    return found


def _parts(stem: str) -> tuple[str, int, int]:
    kind, chapter, number = stem.split("_")
    return kind, int(chapter), int(number)
