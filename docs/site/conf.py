"""Sphinx reads this: Markdown by MyST, its cells run, and warnings are errors (see docs/build.py)."""

from __future__ import annotations

import re

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.application import Sphinx

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
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_dmath_double_inline = True
html_math_renderer = "mathml"  # browsers typeset it by themselves: no script, no network
myst_heading_anchors = 3
nb_execution_timeout = 600
nb_execution_in_temp = False  # pages run beside the files of examples, in the folder that docs/build.py writes
nb_execution_raise_on_error = True
nb_merge_streams = True
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
exclude_patterns = ["_static/**", "_pages/**"]


_FENCED = re.compile(r"<mo[^>]*>(?:\[|&#x0005B;)</mo>\s*<mtable([^>]*)>(.*?)</mtable>\s*<mo[^>]*>(?:\]|&#x0005D;)</mo>")


def _mathml(tex: str, display: str) -> str:
    """A formula as MathML; brackets of matrices are drawn by site.css, since not every machine has a math font."""
    return _FENCED.sub(r'<mtable class="matrix"\1>\2</mtable>', convert(tex, display=display))


def _inline(self: object, node: object) -> None:
    """An inline formula as MathML."""
    self.body.append(_mathml(node.astext(), "inline"))  # type: ignore[attr-defined]
    raise SkipNode


def _block(self: object, node: object) -> None:
    """A formula in a line of its own as MathML."""
    self.body.append(f'<div class="math">{_mathml(node.astext(), "block")}</div>')  # type: ignore[attr-defined]
    raise SkipNode


def setup(app: Sphinx) -> None:
    """Register formulas as MathML."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
