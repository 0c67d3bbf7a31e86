"""A notebook as Markdown, for the pages of the gallery: text, code, and its stored outputs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

LINE = re.compile(r"^The notebook: \[[^\]]*\]\(([\w-]+\.ipynb)\)\.$", re.MULTILINE)


def with_notebooks(markdown: str, folder: Path) -> str:
    """The page, with the content of the notebooks that its lines "The notebook: […](….ipynb)." name."""
    return LINE.sub(lambda found: f"{found[0]}\n\n{rendered(folder / found[1])}", markdown)


def rendered(path: Path) -> str:
    """The cells of a notebook but for its title, which the page has."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _cell(cell))


def _cell(cell: dict[str, Any]) -> list[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [re.sub(r"^# .*\n*", "", text)]
    return [f"```python\n{text}\n```", *map(_output, cell["outputs"])]


def _output(output: dict[str, Any]) -> str:
    """The richest form: a picture, a table, or text."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    form = next(form for form in ("image/png", "text/html", "text/plain") if form in data)
    content = "".join(data[form]).strip("\n")
    if form == "image/png":
        return (
            f'<img alt="{data["text/plain"][0].strip("<>")}" src="data:image/png;base64,{content.strip()}">'
        )
    if form == "text/html":
        return '<div class="notebook-output">' + re.sub(r"\n\s*", " ", content) + "</div>"
    return f"```text\n{content}\n```"
