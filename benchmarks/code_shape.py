"""How the code is built: files, lines, functions, parameters; one row for each folder given.

python benchmarks/code_shape.py src/meritnas other/checkout/src/meritnas --json shape.json
"""

from __future__ import annotations

import ast
from pathlib import Path
from statistics import median
from typing import Any

from scoreboard import Target, arguments, finish

MOST_PARAMETERS, MOST_FILE_LINES, LONG, TOO_LONG, MOST_TOO_LONG = 20, 400, 40, 60, 10


def functions_in(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    found = function.args
    return len(found.posonlyargs) + len(found.args) + len(found.kwonlyargs)


def shape_of(folder: Path) -> dict[str, Any]:
    """Counts over all Python files below a folder."""
    files = sorted(folder.rglob("*.py"))
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in files}
    functions = [(path, one) for path, tree in trees.items() for one in functions_in(tree)]
    lengths = [(one.end_lineno or 0) - one.lineno + 1 for _, one in functions]
    widest = max(functions, key=lambda pair: parameters_of(pair[1]))
    longest = max(files, key=lambda path: lines[path])
    return {
        "folder": str(folder),
        "files": len(files),
        "lines": sum(lines.values()),
        "median_file": median(lines.values()),
        "longest_file": lines[longest],
        "longest_file_name": str(longest.relative_to(folder)),
        "files_over_400": sum(count > MOST_FILE_LINES for count in lines.values()),
        "functions": len(functions),
        "functions_over_40": sum(length > LONG for length in lengths),
        "functions_over_60": sum(length > TOO_LONG for length in lengths),
        "most_parameters": parameters_of(widest[1]),
        "most_parameters_of": f"{widest[0].relative_to(folder)}:{widest[1].name}",
        "modules_with_docstring": sum(
            ast.get_docstring(tree) is not None for tree in trees.values()
        ),
        "calls_of_locals": sum(
            isinstance(node, ast.Call) and getattr(node.func, "id", "") == "locals"
            for tree in trees.values()
            for node in ast.walk(tree)
        ),
    }


def targets(judged: dict[str, Any]) -> list[Target]:
    """What the code of the first folder is to keep."""
    aims = (
        ("most_parameters", f"at most {MOST_PARAMETERS} parameters of a function", MOST_PARAMETERS),
        ("files_over_400", f"no file of more than {MOST_FILE_LINES} lines", 0),
        (
            "functions_over_60",
            f"at most {MOST_TOO_LONG} functions of more than {TOO_LONG} lines",
            MOST_TOO_LONG,
        ),
    )
    return [Target(text, str(judged[name]), judged[name] <= most) for name, text, most in aims]


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="the first one is judged")
    args = parser.parse_args()
    rows = [shape_of(folder) for folder in args.folders]
    for name in rows[0]:
        print(f"{name:24}" + "".join(f"{row[name]!s:>44}" for row in rows))
    return finish(rows, targets(rows[0]), args)


if __name__ == "__main__":
    raise SystemExit(main())
