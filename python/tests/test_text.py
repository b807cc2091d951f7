"""Tables as text are those of the command."""

from pathlib import Path

from firstflight._text import grid


def test_the_grid_is_that_of_the_command() -> None:
    header = ["arm", "completion time\nms", "loss\n%"]
    rows = [["slowstart", "964.0\n960..970", "9.28"], ["rapid ·", "909.8", "-"]]
    shared = Path(__file__).with_name("grid.txt").read_text()
    assert grid(header, rows) + "\n" == shared, "the command's own test reads the same file"
