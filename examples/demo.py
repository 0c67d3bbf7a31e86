"""The demo (`make demo`, `fieldcraft demo`): learn to read postal addresses, and say how sure it is.

Trains on synthetic addresses, scores every field on addresses that training never saw, reads a few
lines typed by hand with a probability per field, and shows the features that weigh most. The code is
in fieldcraft.cli.demonstration.
"""

from __future__ import annotations

from fieldcraft.cli.demonstration import demonstrate

if __name__ == "__main__":
    demonstrate()
