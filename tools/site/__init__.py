"""The documentation site, built offline: `python -m tools.site [FOLDER] [--quick]` (`make docs`).

`pages.py` lays all pages out in one folder: those of `docs/`, documents of the project, the lessons, and pages that are
written from the code (`reference.py`, `mechanisms.py`, `findings.py`). `cells.py` runs the snippets of pages and the
cells of lessons, and keeps the outputs. Sphinx makes HTML of it, with warnings as errors, and `check.py` looks at every
link of the result.
"""
