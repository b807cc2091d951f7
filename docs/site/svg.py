"""The shapes of the pictures."""

from xml.sax.saxutils import escape

INK, MUTED, GRID = "#1a1f27", "#5a6372", "#dcdfe4"


def text(x, y, words, anchor="start", colour=MUTED, bold=False):
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{weight}>'
        f"{escape(words)}</text>"
    )


def stroke(path, colour=GRID, width=1):
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def dot(x, y, colour):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>'


def picture(width, height, shapes):
    """The shapes on white."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">'
    )
    paper = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return "\n".join([head, paper, *shapes, "</svg>"]) + "\n"
