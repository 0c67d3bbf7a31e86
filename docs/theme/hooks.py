"""What the site needs and the pages in the repository do not (hooks of mkdocs)."""

from __future__ import annotations

import re
from typing import Any

COLUMN = 16  # width of a column in the output of commands, which part them by tabs


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """Blocks with prompts are highlighted as a console, and empty lines of output are shown as such."""
    del kwargs
    markdown = re.sub(r"^```python\n(?=>>> )", "```pycon\n", markdown, flags=re.MULTILINE)
    return markdown.replace("\n<BLANKLINE>\n", "\n\n").expandtabs(COLUMN)
