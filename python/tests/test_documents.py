"""Every example of the documentation runs, in the order in which it stands; every notebook shows the outputs that it has here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient

PAGES = [ROOT / "docs" / "python.md", ROOT / "docs" / "learn.md", ROOT / "docs" / "how-to" / "stack.md", ROOT / "python" / "README.md"]
NOTEBOOKS = sorted((ROOT / "python" / "notebooks").glob("*.ipynb"))


def examples(page: Path) -> str:
    """The Python of a page as one program; lines stay where they are, so that a traceback points into the page."""
    program, inside = [], False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            program.append("")
        else:
            program.append(line if inside else "")
    return "\n".join(program)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(
        compile(examples(page), page, "exec"),
        {"__name__": "__main__", "captures": ROOT / "samples" / "plain.pcap.gz", "connections": ROOT / "samples" / "connections.csv.gz"},
    )


def shell_lines() -> list[str]:
    found = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "scale.md").read_text(), flags=re.S)
    return [line.split("#")[0].strip() for block in found for line in block.splitlines() if line.startswith("firstflight ")]


@pytest.mark.parametrize("line", shell_lines())
def test_the_commands_of_the_page_on_scale_are_commands(line: str, binary: str) -> None:
    # They are for a cluster and a night; what is checked is that every option is one.
    options = [word.split("=")[0] for word in line.split() if word.startswith("--")]
    known = subprocess.run([binary, line.split()[1], "--help"], capture_output=True, text=True, check=True).stdout
    assert all(re.search(rf"{option}\b", known) for option in options), line


def keep_results(notebook: nbformat.NotebookNode) -> None:
    """Removes progress bars, which differ from run to run."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [
                output
                for output in cell.outputs
                if output.get("name") != "stderr" and "application/vnd.jupyter.widget-view+json" not in output.get("data", {})
            ]
    notebook.metadata.pop("widgets", None)


def words(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """The text that each code cell shows. Pictures are left out: their bytes depend on the fonts of the machine."""
    return [
        [output.text if output.output_type == "stream" else output.get("data", {}).get("text/plain", "") for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.notebook
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_shows_its_outputs(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The kernel inherits the environment, and in a notebook plots go into its cells.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    kept = nbformat.read(file, as_version=4)
    notebook = nbformat.read(file, as_version=4)
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", record_timing=False, resources={"metadata": {"path": str(file.parent)}})
    client.execute()
    assert not [output for cell in notebook.cells for output in cell.get("outputs", []) if output.output_type == "error"]
    pictures = sum("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
    assert pictures >= 2, f"{file.name} shows {pictures} pictures"
    keep_results(notebook)
    if os.environ.get("WRITE_DOCS"):
        nbformat.write(notebook, file)
        kept = notebook
    assert words(notebook) == words(kept), f"{file.name} shows old outputs: WRITE_DOCS=1 python/test.sh --tests writes them again"


def test_there_are_three_notebooks() -> None:
    assert [file.stem for file in NOTEBOOKS] == ["learned-startup", "which-startup", "write-your-own-startup"]


def test_nothing_needs_more_than_the_engine() -> None:
    program = "import sys, firstflight; firstflight.ab(flows=100); print({'numpy', 'pandas', 'pyarrow', 'ray', 'tqdm'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()", "importing and running loads no library beside"
