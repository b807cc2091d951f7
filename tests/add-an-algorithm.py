"""Carries out docs/add-an-algorithm.md on a copy: `add-an-algorithm.py TARGET [--full]`.

Files that the page shows below `<!-- new: PATH -->` are written, blocks of `diff` applied, and the
result is compiled with all tests of the core, with TARGET as cargo's folder. With --full the page's
commands run: its tests, and the comparison, whose output has to show the new arm.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?:^<!-- new: (\S+) -->\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)


def copy(folder):
    """The files of the checkout that are not ignored, as they are now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (source := CHECKOUT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            # With its time, so that cargo takes what did not change for built.
            target.write_bytes(source.read_bytes())
            target.chmod(source.stat().st_mode)
            os.utime(target, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))


def edited(page, folder):
    """Does to the copy what the page says; the commands to type."""
    written = applied = 0
    commands = []
    # The copy may lie inside of a repository, which is not what differences are about.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    for path, language, text in BLOCK.findall(page):
        if path:
            (folder / path).write_text(text)
            written += 1
        elif language == "diff":
            apply = ["git", "apply", "--whitespace=nowarn", "-"]
            subprocess.run(apply, cwd=folder, env=environment, input=text, text=True, check=True)
            applied += 1
        elif language == "sh":
            commands += text.splitlines()
    if not (written and applied and commands):
        sys.exit("docs/add-an-algorithm.md is no longer understood")
    return commands


def main(target, *options):
    target = Path(target).resolve()
    # Always the same place, so that cargo knows again what it has built.
    folder = target / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    copy(folder)
    commands = edited((CHECKOUT / "docs/add-an-algorithm.md").read_text(), folder)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    if "--full" not in options:
        commands = ["cargo check --quiet --locked -p firstflight --tests"]
    for command in commands:
        # The profile of the tests compiles faster.
        line = command.replace(" --release", " --locked")
        done = subprocess.run(
            line, shell=True, cwd=folder, env=environment, capture_output=True, text=True
        )
        shows = "quarter(rise=1.5)" in done.stdout or " compare " not in line
        if done.returncode or not shows:
            sys.exit(f"{line}\n{done.stdout}{done.stderr}")
        print(f"guide: {line}")


if __name__ == "__main__":
    main(*sys.argv[1:])
