"""Write the repository's public address wherever it is needed: `python -m tools.address`.

It is set in one place, `address` under `[tool.dpviz]` in pyproject.toml. From it follow the project's links there, the
Binder badges and the pictures in README.md (a page outside the repository shows no relative picture), and CITATION.cff.
Without an address README.md says so, and pictures are named by their path.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BRANCH = "main"
BADGE = "https://mybinder.org/badge_logo.svg"
ADDRESS = re.compile(r"https://github\.com/(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)/?")
LAUNCH = re.compile(r"(<!-- launch -->\n).*?(<!-- /launch -->)", re.S)
PICTURE = re.compile(r"(!\[[^\]]*\]\()(?:https://raw\.githubusercontent\.com/[^)\s]*?/)?(docs/[^)\s]+)\)")
URLS = re.compile(r"\[project\.urls\]\n(?:\w+ = .*\n)*\n?")
CITED = re.compile(r"^repository-code: .*\n", re.M)
UNSET = (
    "No public address of this repository is set yet, so there is nothing that Binder could launch. To publish "
    "it, set `address` in pyproject.toml and run `make address`.\n"
)


def parts(address: str) -> tuple[str, str] | None:
    """Owner and name of the repository; None where no address is set."""
    if not address:
        return None
    found = ADDRESS.fullmatch(address)
    if found is None:
        raise SystemExit(f'address must be like "https://github.com/owner/name", or empty, not "{address}"')
    return found["owner"], found["name"]


def site(address: str) -> str:
    """The address that the documentation is published at; empty where no address is set."""
    repository = parts(address)
    return "https://{}.github.io/{}/".format(*repository) if repository else ""


def readme(text: str, address: str, notebooks: Sequence[str]) -> str:
    """README.md with a badge for each notebook, and pictures that show outside the repository too."""
    repository = parts(address)
    if repository is None:
        launch, raw = UNSET, ""
    else:
        owner, name = repository
        binder = f"https://mybinder.org/v2/gh/{owner}/{name}/{BRANCH}?urlpath=lab/tree/notebooks/"
        launch = "".join(f"[![Launch {file} on Binder]({BADGE})]({binder}{file}) `{file}`  \n" for file in notebooks)
        raw = f"https://raw.githubusercontent.com/{owner}/{name}/{BRANCH}/"
    if not LAUNCH.search(text):
        raise SystemExit("README.md has no place for badges: a line <!-- launch --> and a line <!-- /launch -->")
    text = LAUNCH.sub(lambda found: found[1] + launch + found[2], text)
    return PICTURE.sub(lambda found: f"{found[1]}{raw}{found[2]})", text)


def project(text: str, address: str) -> str:
    """pyproject.toml with the project's links."""
    text = URLS.sub("", text)
    if parts(address) is None:
        return text
    home = address.rstrip("/")
    links = {
        "Repository": home,
        "Documentation": site(address),
        "Changelog": f"{home}/blob/{BRANCH}/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }
    urls = "[project.urls]\n" + "".join(f'{name} = "{link}"\n' for name, link in links.items()) + "\n"
    return text.replace("[project.scripts]\n", urls + "[project.scripts]\n")


def citation(text: str, address: str) -> str:
    """CITATION.cff with where the code is."""
    text = CITED.sub("", text)
    return text if parts(address) is None else text + f"repository-code: {address.rstrip('/')}\n"


def written(root: Path) -> dict[Path, str]:
    """The files that name the address, as they should read."""
    settings = (root / "pyproject.toml").read_text()
    address = tomllib.loads(settings)["tool"]["dpviz"]["address"]
    notebooks = sorted(path.name for path in (root / "notebooks").glob("*.ipynb"))
    return {
        root / "README.md": readme((root / "README.md").read_text(), address, notebooks),
        root / "pyproject.toml": project(settings, address),
        root / "CITATION.cff": citation((root / "CITATION.cff").read_text(), address),
    }


def main() -> int:
    for path, text in written(ROOT).items():
        if path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
