"""Sphinx reads this: Markdown by MyST, its cells run, and warnings are errors (see docs/build.py)."""

import fourbar

project = "fourbar"
author = "the fourbar authors"
copyright = "the fourbar authors, MIT licence"
version = release = fourbar.__version__
extensions = ["myst_nb", "sphinx_design", "sphinx_copybutton"]
html_theme = "furo"
html_title = f"fourbar {release}"
html_static_path = ["_static"]
html_extra_path = ["_pages"]  # pages as they are
html_css_files = ["site.css"]
html_show_sourcelink = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_timeout = 600
nb_execution_in_temp = False  # pages run beside the files of examples, in the folder that docs/build.py writes
nb_execution_raise_on_error = True
nb_merge_streams = True
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
exclude_patterns = ["_static/**", "_pages/**"]
