"""Tables as text and as HTML."""

from collections.abc import Sequence
from html import escape


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table with a rule above, under the header and below; the first `left` columns are aligned left, the others right. It is
    byte-identical to the command's grid; `tests/grid.txt` checks both."""
    lines = [[cell.split("\n") for cell in row] for row in [header, *rows]]
    widths = [max(len(part) for row in lines for part in row[index]) for index in range(len(header))]
    rule = "─" * (sum(widths) + 3 * len(widths) - 1)

    def laid_out(row: Sequence[Sequence[str]]) -> str:
        height = max(len(cell) for cell in row)
        text = []
        for number in range(height):
            cells = []
            for index, cell in enumerate(row):
                part = cell[number] if number < len(cell) else ""
                cells.append(part.ljust(widths[index]) if index < left else part.rjust(widths[index]))
            text.append(f" {'   '.join(cells)} ")
        return "\n".join(text)

    return "\n".join([rule, laid_out(lines[0]), rule, *map(laid_out, lines[1:]), rule])


_STYLE = "text-align:right;padding:2px 8px;white-space:nowrap"


def html(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", bold: frozenset[tuple[int, int]] = frozenset()) -> str:
    """The same as an HTML table without script or style sheet; `bold` lists cells by row and column."""

    def cell(tag: str, text: str, index: int, strong: bool = False) -> str:
        align = _STYLE.replace("right", "left") if index == 0 else _STYLE
        inner = escape(text).replace("\n", "<br>")
        return f'<{tag} style="{align}">{f"<b>{inner}</b>" if strong else inner}</{tag}>'

    head = "".join(cell("th", text, index) for index, text in enumerate(header))
    body = "".join(
        "<tr>" + "".join(cell("td", text, index, (number, index) in bold) for index, text in enumerate(row)) + "</tr>"
        for number, row in enumerate(rows)
    )
    title = f'<caption style="text-align:left">{caption}</caption>' if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def figure(value: object) -> str:
    """Formats one cell."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.0f}"
    return str(value)
