"""Run the notebooks of the gallery and store what they print: `python docs/gallery/run.py [NAMES]`.

tests/docs/test_gallery.py runs them too, and compares the texts.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
SETUP = "%config InlineBackend.print_figure_kwargs = {'dpi': 72, 'bbox_inches': 'tight'}\n%matplotlib inline"


def executed(path: Path) -> Any:
    """The notebook with fresh outputs, without anything that differs from run to run."""
    notebook = nbformat.read(path, as_version=4)
    first = nbformat.v4.new_code_cell(SETUP)
    notebook.cells.insert(0, first)
    NotebookClient(
        notebook, timeout=120, record_timing=False, resources={"metadata": {"path": HERE}}
    ).execute()
    notebook.cells.pop(0)
    for number, cell in enumerate((c for c in notebook.cells if c.cell_type == "code"), 1):
        cell.execution_count = number
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
    return notebook


def main() -> None:
    for path in sorted(HERE.glob("*.ipynb")):
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            nbformat.write(executed(path), path)


if __name__ == "__main__":
    main()
