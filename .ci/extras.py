"""Print the requirements of the named extras in pyproject.toml, one a line, quoted for the shell."""

import re
import sys
from pathlib import Path

text = Path(__file__).resolve().parent.parent.joinpath("pyproject.toml").read_text()
for extra in sys.argv[1:]:
    block = re.search(rf"^{extra} = \[(.*?)\]", text, re.M | re.S)
    if block is None:
        sys.exit(f"pyproject.toml has no extra {extra!r}")
    print(*re.findall(r'"([^"]+)"', block.group(1)), sep="\n")
