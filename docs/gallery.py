"""Run the pages of gallery and errors as notebooks are run, and write below each cell what it said.

    python docs/gallery.py [NAME ...]

The value of a cell's last line is shown unless it is None. `make gallery` runs all pages.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import re
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGES = (*(HERE / "gallery").glob("*.md"), *(HERE / "errors").glob("*.md"))
sys.path.insert(0, str(HERE / "hooks"))


def run_cell(code: str, names: dict[str, object]) -> str:
    """What a cell says."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    said = io.StringIO()
    with redirect_stdout(said):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            if value is not None:
                print(value if isinstance(value, str) else repr(value))
    return said.getvalue()


def run_page(text: str, folder: Path) -> str:
    """The page with what its cells say, run in an empty folder."""
    from notebooks import CELL

    names: dict[str, object] = {}

    def rewritten(found: re.Match[str]) -> str:
        code = found["code"]
        if module := re.match(r"# (\w+\.py)\n", code):  # a module of the reader's
            (folder / module[1]).write_text(code)
            return f"```python\n{code}```"
        said = run_cell(code, names)
        output = f'\n\n```text title="Output"\n{said.rstrip()}\n```' if said.strip() else ""
        return f"```python\n{code}```{output}"

    return CELL.sub(rewritten, text)


def main() -> None:
    """Run the pages that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of pages, without .md")
    asked = parser.parse_args().names
    for page in sorted(PAGES):
        if asked and page.stem not in asked:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            sys.path.insert(0, folder)
            page.write_text(run_page(page.read_text(), Path(folder)))
            os.chdir(HERE)
        print(page.name)


if __name__ == "__main__":
    main()
