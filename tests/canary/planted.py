"""What is planted where nobody may see it, and the decoys that everybody may see. The kernel never imports this.

The kernel reads the private values from files, so that no line of source holds one.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.canary.hunter import Canary

STEM = "Quetzalwren"
LABEL = "ẞüßwasserŋ"
"""Not ASCII: its escapes are hunted too."""

COUNTS = [731_000_160_446_210 + 7 * bin for bin in range(10)]
"""True counts of a source. Whole numbers that a float holds, with twelve digits and all bytes but one in common."""

STRANGE_INTEGERS = [604_462_909_807_363 + row for row in range(5)]
STRANGE_FLOAT = 4_827_116_080.731_455
"""Values of the data, far outside every domain. In six digits the float has an exponent: without it they would be
found in one of a million times of day, and objects say some of those."""

CANARIES = [
    Canary.text("a text of the data", STEM),
    Canary.text("a label of the data", LABEL),
    Canary.numbers("a true count", COUNTS),
    Canary.numbers("how many rows there are", [sum(COUNTS)]),
    Canary.numbers("an integer of the data", STRANGE_INTEGERS),
    Canary.numbers("a number of the data", [STRANGE_FLOAT]),
]

NAME = "Marmotplain"
"""The declared name of both data sets: public."""

RELEASED = [820_300_951_127_556 + bin for bin in range(10)]
"""What every release says, whatever the truth: the draw is replaced, so a true count that shows is a leak."""

DECOYS = {"name": Canary.text("the name of the data", NAME), "values": Canary.numbers("a released value", RELEASED)}

ROWS = 60


def plant(folder: Path) -> None:
    """Write the private files."""
    folder.mkdir()
    (folder / "counts.json").write_text(json.dumps({"counts": COUNTS, "say": f"{STEM} {LABEL} {COUNTS[3]}"}))
    rows = [
        {
            "user": f"{STEM}-user-{row % 9}",
            "place": ["north", "south", f"{STEM}-place", LABEL][row % 4],
            "visits": [row % 3, STRANGE_INTEGERS[row % 5]][row % 7 == 0],
            "weight": [row / 8, STRANGE_FLOAT][row % 5 == 0],
            "note": [f"{STEM} note {row}", STRANGE_INTEGERS[row % 5], None][row % 3],
        }
        for row in range(ROWS)
    ]
    (folder / "people.json").write_text(json.dumps(rows))
    (folder / "public.json").write_text(json.dumps({"name": NAME, "released": RELEASED}))
