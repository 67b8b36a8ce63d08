"""The Chromium that the browser tests drive: find it, or install it by apt where that is possible.

Run as `python -m tools.chromium`. A machine without Chromium fails here and says what to install; it never passes by
leaving the browser tests out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = ("chromium", "fonts-dejavu-core")


def find() -> str | None:
    """The path of a Chromium, on the PATH or where Debian puts it."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/bin", "/usr/bin"])
    return next(filter(None, (shutil.which(name, path=path) for name in NAMES)), None)


def install() -> None:
    """Install Chromium by apt, as root or with a sudo that asks for nothing."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-qq", "--yes", "--no-install-recommends", *PACKAGES]):
        subprocess.run([*sudo, "apt-get", *command], env=quiet, stdin=subprocess.DEVNULL, check=True)


def main() -> int:
    if find() is None and shutil.which("apt-get"):
        print("Chromium is missing: installing it by apt", flush=True)
        try:
            install()
        except (OSError, subprocess.CalledProcessError) as problem:
            print(f"apt could not install it: {problem}", file=sys.stderr)
    if find() is None:
        print(f"The browser tests need Chromium. On Debian or Ubuntu: apt-get install {' '.join(PACKAGES)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
