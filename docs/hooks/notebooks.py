"""Pages of the gallery as notebooks, to download: prose, code, and what the code said."""

from __future__ import annotations

import json
import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

FOLDER = "gallery/"
INDEX = f"{FOLDER}index.md"

CELL = re.compile(
    r'```python\n(?P<code>.*?)```(?:\n\n```text title="Output"\n(?P<said>.*?)```)?', re.DOTALL
)
"""Code, and its output where it has some."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a notebook beside each page."""
    for file in list(files.documentation_pages()):
        if file.src_uri.startswith(FOLDER) and file.src_uri != INDEX:
            text = json.dumps(notebook(file.content_string), indent=1)
            name = file.src_uri.removesuffix("md") + "ipynb"
            files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(
    markdown: str, *, page: Page, config: MkDocsConfig, files: Files
) -> str | None:
    """Link to the notebook at the end of its page."""
    del config, files
    uri = page.file.src_uri
    if not uri.startswith(FOLDER) or uri == INDEX:
        return None
    name = uri.removeprefix(FOLDER).removesuffix("md") + "ipynb"
    return f"{markdown}\n\nThis page as a notebook: [{name}]({name})."


def notebook(page: str) -> dict[str, Any]:
    """A page in the format of Jupyter, 4.5."""
    cells: list[dict[str, Any]] = []
    at = 0
    for found in CELL.finditer(page):
        cells += _prose(page[at : found.start()], len(cells))
        cells.append(_code(found["code"], found["said"], len(cells)))
        at = found.end()
    cells += _prose(page[at:], len(cells))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def _prose(text: str, number: int) -> list[dict[str, Any]]:
    if not text.strip():
        return []
    return [
        {
            "cell_type": "markdown",
            "id": f"cell-{number}",
            "metadata": {},
            "source": text.strip(),
        }
    ]


def _code(code: str, said: str | None, number: int) -> dict[str, Any]:
    outputs = [] if said is None else [{"output_type": "stream", "name": "stdout", "text": said}]
    return {
        "cell_type": "code",
        "id": f"cell-{number}",
        "metadata": {},
        "execution_count": None,
        "outputs": outputs,
        "source": code.rstrip("\n"),
    }
