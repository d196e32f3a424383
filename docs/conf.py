"""Sphinx: pages in Markdown, and pages made from the project's own tables when the docs are built."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "Fencepost"
author = "The Fencepost developers"
copyright = author
version = release = installed("fencepost")

extensions = ["myst_parser", "catalogue_pages"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist", "colon_fence"]

html_theme = "furo"
html_title = "Fencepost"
html_copy_source = False
html_show_sphinx = False
