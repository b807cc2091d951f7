"""Shortens the annexes of docs/evaluations: `evaluations.py FULL.md OTHER.md...`.

FULL is an annex as `evaluate --annex` writes it. In each OTHER, paragraphs that stand in FULL under the same heading
(scenarios, conventions, questions to the author) are left out; verdicts and tables stay.
"""

import sys
from pathlib import Path


def paragraphs(text):
    """(heading, paragraph) of each paragraph of an annex; an item of a list is a paragraph."""
    heading = ""
    for block in text.replace("\n* ", "\n\n* ").split("\n\n"):
        if block.startswith("#"):
            heading = block
        yield heading, block.strip("\n")


def main(full, *others):
    full = Path(full)
    known = set(paragraphs(full.read_text()))
    note = f"Scenarios, conventions and questions to the author, where they are the same, are in [another annex]({full.name})."
    for other in map(Path, others):
        kept = [
            block
            for heading, block in paragraphs(other.read_text())
            if block.startswith(("#", "|", "Verdict:")) or block not in ("", note) and (heading, block) not in known
        ]
        # Below the title and the description of the runs.
        kept.insert(2, note)
        other.write_text("\n\n".join(kept) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
