"""What all pictures share: a figure without a window, colours, plain axes, and the file.

Colours are those of Okabe and Ito, which readers of every kind of colour vision tell apart; where there are
more lines than colours, dashes differ. Text has at least 8 points at the size at which a figure is printed.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import Any

from fieldcraft.errors import InputError
from fieldcraft.replacing import replacing

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")  # of the first seven lines, the next seven …
FORMATS = ("png", "svg", "pdf", "eps", "jpg", "jpeg", "webp", "tif", "tiff")
DOTS = 150  # per inch


def check_plots() -> None:
    """Raise an InputError without matplotlib."""
    if find_spec("matplotlib") is None:
        raise InputError("plots need matplotlib; install it: pip install matplotlib")


def new_figure(size: tuple[float, float]) -> Any:
    """An empty figure, in inches; without a window or global state. Notebooks show it as a picture."""
    check_plots()
    backend, figures = import_module("matplotlib.backends.backend_agg"), import_module("matplotlib.figure")

    class Picture(figures.Figure):  # type: ignore[name-defined,misc]
        def _repr_png_(self) -> bytes:
            file = BytesIO()
            self.savefig(file, format="png", dpi=100)
            return file.getvalue()

    figure = Picture(figsize=size, layout="constrained")
    backend.FigureCanvasAgg(figure)
    return figure


def line_style(i: int) -> dict[str, Any]:
    """Colour and dashes of the i-th line."""
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i // len(COLOURS) % len(DASHES)]}


def plain_axes(axes: Any) -> None:
    """Faint grid lines behind the data, no frame at the top and right."""
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def plain_text(text: Any) -> str:
    """A text from data, in which matplotlib sees no formula and no line end."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return shown.replace("$", r"\$")


def cut(text: Any, most: int) -> str:
    """A text from data with at most so many characters."""
    whole = str(text)
    return plain_text(whole if len(whole) <= most else whole[: most - 1] + "\N{HORIZONTAL ELLIPSIS}")


def finished(figure: Any, path: Any) -> Any:
    """The figure; also written to a stream or, whole or not at all, to a file if ``path`` is not None."""
    if path is not None:
        save_figure(figure, path)
    return figure


def save_figure(figure: Any, path: Any) -> None:
    """Write a figure in the format that the suffix names, PNG without one."""
    if not isinstance(path, (str, os.PathLike)):
        figure.savefig(path, dpi=DOTS)
        return
    name, format = os.fspath(path), os.path.splitext(path)[1][1:].lower()
    if not format:
        name, format = f"{name.rstrip('.')}.png", "png"
    if format not in FORMATS:
        raise InputError(f"{name}: pictures are {', '.join(FORMATS)} files; end the name with .png or .svg")
    with replacing(name) as file:
        figure.savefig(
            file, format=format, dpi=DOTS, **({"metadata": {"Date": None}} if format == "svg" else {})
        )
