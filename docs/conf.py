"""Sphinx settings of the documentation. `python -m tools.site` (`make docs`) lays the pages out and builds them."""

import re
import tomllib
from pathlib import Path

import dpviz
from tools import address

ROOT = Path(dpviz.__file__).resolve().parent.parent
ADDRESS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["dpviz"]["address"]

project = "dpviz"
author = "The dpviz developers"
copyright = "the dpviz developers"
version = release = dpviz.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "sphinx_design", "sphinx_copybutton"]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = []
default_role = "code"
nitpicky = False
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header", "misc.highlighting_failure"]

# Cells are run when pages are laid out, and nothing is fetched by a page.
nb_execution_mode = "off"
nb_ipywidgets_js = {}
nb_merge_streams = True
nb_mime_priority_overrides = [("html", "image/png", 0), ("html", "image/svg+xml", 1), ("html", "text/html", 2)]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
autodoc_member_order = "alphabetical"

html_theme = "pydata_sphinx_theme"
html_title = "dpviz"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_baseurl = address.site(ADDRESS)
html_theme_options = {
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "navigation_depth": 2,
    "header_links_before_dropdown": 5,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def escaped(app, what, name, obj, options, lines):
    """Keep |z| in a docstring from being read as a substitution."""
    lines[:] = [re.sub(r"\|(\w[^|`]*)\|", r"\\|\1\\|", line) if "`" not in line else line for line in lines]


MENDED = {
    ' role="doc-biblioentry"': "",
    '<div role="list" class="citation-list">': '<div class="citation-list">',
    '<summary><span class="toctree-toggle"': '<summary aria-label="Pages below"><span class="toctree-toggle"',
    'search-button-field search-button__button pst-js-only" title="Search" aria-label="Search"': (
        'search-button-field search-button__button pst-js-only" title="Search" aria-label="Search Ctrl + K"'
    ),
}
"""Markup of docutils and of the theme that readers by ear are told wrongly, as axe-core found."""


def mend(app, exception):
    """Mend the markup of every page."""
    for path in Path(app.outdir).rglob("*.html") if exception is None else ():
        text = made = path.read_text(encoding="utf-8")
        for wrong, right in MENDED.items():
            made = made.replace(wrong, right)
        if made != text:
            path.write_text(made, encoding="utf-8")


def setup(app):
    app.connect("autodoc-process-docstring", escaped, priority=400)
    app.connect("build-finished", mend)
