"""Sphinx configuration of the site; `build.sh` prepares its input."""

project = "firstflight"
copyright = "the firstflight developers"
html_title = "firstflight"
extensions = ["myst_parser"]
# Headings can be linked to as on the forge: `page.md#a-heading`.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]
# Pages are also read on the forge, where a page begins with its own heading.
suppress_warnings = ["myst.header"]
nitpicky = True
exclude_patterns = ["site"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/favicon.svg"
html_show_sphinx = False
html_copy_source = False
# Nothing is indexed: the page would be empty.
html_use_index = False
html_theme_options = {
    "source_repository": "https://github.com/firstflight/firstflight/",
    "source_branch": "main",
    "source_directory": "docs/",
}
