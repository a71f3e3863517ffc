"""How Sphinx builds the site: ``sphinx-build -W -n vignettes build``.

Nothing is fetched: formulas become MathML, and what the theme needs comes with it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))
os.environ.setdefault("MPLBACKEND", "Agg")
# commands that pages show are those of this environment
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
os.environ["COLUMNS"] = "100"

import ldpstats

project = "ldpstats"
author = "The ldpstats developers"
copyright = author
version = release = ldpstats.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.programoutput",
    "data_docstrings",
    "llms",
    "mathml",
    "stored_tables",
]
exclude_patterns = ["_templates", "extensions", "*/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
html_static_path = ["_static"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}

# Names in single backticks are links where they name something public, else plain code
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", ".*")]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

sphinx_gallery_conf = {
    "examples_dirs": ["articles", "recipes"],
    "gallery_dirs": ["gallery/articles", "gallery/recipes"],
    # what needs Java shows its stored output, which a test compares
    "filename_pattern": r"(?<!_spark)\.py$",
    "ignore_repr_types": r"matplotlib|list|ndarray",  # axes of plots
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("ldpstats",),
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", "seaborn", "strict.run_strictly"),
    "reset_modules_order": "both",
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "parallel": 2,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "ldpstats"
html_css_files = ["site.css"]
html_sidebars = {"start": [], "contributing": [], "changelog": []}  # pages without others below
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": False,
}
