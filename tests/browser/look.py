"""What a reader would complain about on a page: `look.js` looks for it."""

from pathlib import Path

SCRIPT = (Path(__file__).parent / "look.js").read_text()
KINDS = ["overflow", "cut", "overlap", "faint", "small", "riddle"]
WIDTHS = [390, 1280]
# Pages draw anew in the frame after the one in which they learn of their size.
DRAWN = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)))"


def complaints(browser, width, kinds=KINDS):
    """Of the page that is open, in a window of this width; a line each."""
    return browser.execute_script(SCRIPT, width, list(kinds))


def complaints_everywhere(browser):
    """The same on a phone and a screen, in the light and in the dark."""
    found = []
    for width in WIDTHS:
        for theme in browser.themes:
            browser.show(width, theme)
            browser.execute_async_script(DRAWN)
            found += [f"{width} px, {theme}: {line}" for line in complaints(browser, width)]
    browser.show(theme="light")
    return found
