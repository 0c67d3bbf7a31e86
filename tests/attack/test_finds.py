"""What fuzzing found once stays found: finds/KIND.NAME.what.ext is tried as target KIND/NAME."""

from __future__ import annotations

from pathlib import Path

import pytest

from attack.targets import attempt

FINDS = sorted((Path(__file__).parent / "finds").iterdir())


@pytest.mark.parametrize("path", FINDS, ids=[path.name for path in FINDS])
def test_find(path: Path) -> None:
    kind, name, *_ = path.name.split(".")
    assert attempt(f"{kind}/{name}", path) in ("answered", "refused")
