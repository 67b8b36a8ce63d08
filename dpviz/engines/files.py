"""A file that an engine reads from, known by what it is and not by its name alone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Opened:
    """A file as it was when it was opened: its path, its device and its inode."""

    path: Path
    device: int
    inode: int

    @classmethod
    def now(cls, path: str | Path) -> Opened:
        """The file of this name. Raises OSError where there is none."""
        at = Path(path).absolute()
        known = os.stat(at)
        return cls(at, known.st_dev, known.st_ino)

    @classmethod
    def found(cls, path: str | Path) -> Opened | None:
        """The file of this name, or None where there is none."""
        try:
            return cls.now(path)
        except OSError:
            return None

    @property
    def name(self) -> str:
        return self.path.name

    def there(self) -> bool:
        """Whether its path still names it. The content is not looked at."""
        return Opened.found(self.path) == self
