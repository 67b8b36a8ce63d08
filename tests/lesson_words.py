"""Words that no page, report or file of a lesson says: nothing in it is private, released, paid for or charged."""

from __future__ import annotations

import re

PRIVATE = re.compile(
    r"\breleas(e|es|ed|ing)\b|\bpa(y|ys|id|ying)\b|\bbudget|\bspen[dt]\b|\bcharged?\b|\bcosts?\b|\bfor good\b",
    re.IGNORECASE,
)
