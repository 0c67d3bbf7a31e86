"""What the site needs and the pages in the repository do not (hooks of mkdocs)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))
from notebooks import with_notebooks

COLUMN = 16  # width of a column in the output of commands, which part them by tabs


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Notebooks are shown; blocks with prompts are consoles; empty lines of output are kept."""
    del kwargs
    markdown = with_notebooks(markdown, Path(page.file.abs_src_path).parent)
    markdown = re.sub(r"^```python\n(?=>>> )", "```pycon\n", markdown, flags=re.MULTILINE)
    return markdown.replace("\n<BLANKLINE>\n", "\n\n").expandtabs(COLUMN)
