"""Plots of held-out score and active weights against the searched setting, one above the other.

One line for each combination of the other settings. The axis is the dimension with the most numbers, on a
logarithmic scale if all are greater than zero; if no dimension has numbers, the points are in the order in
which they were tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fieldcraft.tuning.plots import new_figure, plain_axes, save_figure
from fieldcraft.tuning.space import PRIOR, spelled

if TYPE_CHECKING:
    from fieldcraft.tuning.tuned import Tried, Tuning

Line = list[tuple[float, "Tried"]]
MOST_NAMES = 12  # lines that a legend names


def draw_curve(found: Tuning, path: Any) -> None:
    """Draw all points into a file."""
    canvas, figure = new_figure((8, 7))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for axes in (above, below):
        plain_axes(axes)
    axis = _axis(found)
    lines = _lines(found, axis)
    for name, line in lines.items():
        numbers = [number for number, _ in line]
        above.plot(numbers, [100 * row.score for _, row in line], "o-", markersize=4, label=name)
        below.plot(numbers, [row.active for _, row in line], "o-", markersize=4)
    if found.best is not None:
        at = next(n for line in lines.values() for n, row in line if row is found.best)
        above.plot([at], [100 * found.best.score], "o", markersize=11, fillstyle="none", color="black")
        above.set_title(f"best: {found.best.entry}, {100 * found.best.score:.2f}", fontsize=10)
    if all(number > 0 for line in lines.values() for number, _ in line) and axis is not None:
        below.set_xscale("log")
    if 1 < len(lines) <= MOST_NAMES:
        above.legend(fontsize=8)
    above.set_ylabel(f"{found.metric} on held-out data, per cent")
    below.set_ylabel("weights that are not zero")
    below.set_ylim(bottom=0)
    below.set_xlabel("point" if axis is None else axis.removeprefix(PRIOR))
    save_figure(canvas, path)


def _axis(found: Tuning) -> str | None:
    """The setting with the most numbers, if any has several."""
    names = found.rows[0].settings if found.rows else ()
    values = {name: {row.settings[name] for row in found.rows} for name in names}
    several = {name: len(of) for name, of in values.items() if len(of) > 1 and all(map(_is_number, of))}
    return max(several, key=several.__getitem__, default=None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _lines(found: Tuning, axis: str | None) -> dict[str, Line]:
    """One line for each combination of the settings that are not on the axis; its points in order."""
    lines: dict[str, Line] = {}
    for number, row in enumerate(found.rows):
        others = {} if axis is None else {n: v for n, v in row.settings.items() if n != axis}
        x = float(number if axis is None else row.settings[axis])
        lines.setdefault(spelled(others), []).append((x, row))
    return {name: sorted(line, key=lambda pair: pair[0]) for name, line in lines.items()}
