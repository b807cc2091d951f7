"""Prints docs/tunings.md: `tunings.py PROGRAM`. Two tunings on three populations, each by the command that the page shows.

About a minute and a half of processor time each.
"""

import subprocess
import sys

TUNINGS = [
    ("slowstart@(iw=10..60)", "The initial window of slow start"),
    ("hystart++(low=*,divisor=*)@(iw=10..60)", "HyStart++: the smallest rise of the RTT, the growth after it, and the initial window"),
]
POPULATIONS = [
    ("cdn", "Connections to a content delivery network"),
    ("mobile-2025", "Mobile networks of 2025"),
    ("geo", "A geostationary satellite"),
]
HEAD = """# Tunings of built-in populations

What `firstflight tune` finds for slow start and HyStart++ on three [populations](reference/populations.md), with the
default settings: 400 evaluations of 2000 connections, judged on 20 000 others. [How to read it](how-to/tune.md).
`docs/regenerate.sh tunings` writes this page. The populations are models, so tune on
[connections of your own](how-to/captures.md) before you change anything.
"""


def main() -> None:
    program = sys.argv[1]
    print(HEAD)
    for population, title in POPULATIONS:
        print(f"## {title}: `{population}`\n")
        for arm, about in TUNINGS:
            words = ["tune", arm, "--population", population]
            done = subprocess.run([program, *words], capture_output=True, text=True, check=True)
            print(f"{about}:\n")
            print("<!-- notest: tune: takes a minute; `docs/regenerate.sh tunings` runs it -->")
            print(f"```sh\nfirstflight tune '{arm}' --population {population}\n```\n")
            print(f"```text\n{done.stdout.strip()}\n```\n")


if __name__ == "__main__":
    main()
