"""Python source of a network, taken from the files that its classes are written in.

Files of children import torch, the standard library and each other; `meritnas.errors` and
`meritnas.wording` only for checks, which are left out of what is written.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

_PACKAGE = __name__.partition(".")[0]
_WIDEST = 100
_LOAD = '''def load(path: str | Path | None = None) -> Network:
    """The trained network, ready to use; None for the weights beside this file."""
    from safetensors.torch import load_file

    network = Network()
    network.load_state_dict(load_file(path or Path(__file__).with_name("model.safetensors")))
    return network.eval()
'''


def network_source(
    child: type,
    arguments: Mapping[str, Any],
    text: str,
    about: str,
    methods: str = "",
) -> str:
    """A file with the network as a torch Module, and all that it is made of; needs torch only.

    Args:
        child: the class of such networks.
        arguments: of its `__init__`, plain values; tables of what names stand for are written
            with the names that are among them only.
        text: the architecture's.
        about: what the docstring of the class says.
        methods: more of the class, indented.
    """
    collector = _Collector(frozenset(_words(arguments)))
    collector.add(child.__module__, child.__name__)
    given = "".join(
        f"            {name}={_literal(v, 12, name)},\n" for name, v in arguments.items()
    )
    network = (
        f'class Network({child.__name__}):\n    """{about}"""\n\n'
        f"    def __init__(self) -> None:\n        super().__init__(\n{given}        )\n{methods}"
    )
    collector.add_names(child.__module__, methods)
    # Names of modalities are in it, which may hold what would end a docstring.
    wrapped = textwrap.fill(escaped(text), 96, break_long_words=False, break_on_hyphens=False)
    return f'''"""A network that MeritNAS found; needs torch, and safetensors to load weights.

{wrapped}

preprocessing.json says how data becomes inputs, and what scores stand for.
"""

from __future__ import annotations

{collector.imports()}
{collector.definitions()}


{network}

{_LOAD}'''


def escaped(name: str) -> str:
    """A name as it can stand in comments and docstrings."""
    return json.dumps(name, ensure_ascii=False)[1:-1]


class _File:
    """What a file has at its top level: imports and definitions, by name."""

    def __init__(self, name: str) -> None:
        self.lines = inspect.getsource(import_module(name)).splitlines()
        self.tree = ast.parse("\n".join(self.lines))

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """Name -> (module, the name there and perhaps here; empty for the module itself)."""
        found: dict[str, tuple[str, str]] = {}
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                found |= {alias.name: (alias.name, "") for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    written = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
                    found[alias.asname or alias.name] = (str(node.module), written)
        return found

    @cached_property
    def definitions(self) -> dict[str, ast.stmt]:
        """Name -> the class, the function or the assignment."""
        found: dict[str, ast.stmt] = {}
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id] = node
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found[node.target.id] = node
        return found

    def text(self, node: ast.stmt, words: frozenset[str]) -> str:
        """A definition without checks, and of a table only the rows that these words name."""
        dropped = {line for one in _checks(node, self.imports) for line in _span(one)}
        dropped |= {line for one in _unused(node, words) for line in _span(*one)}
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        lines = range(first, (node.end_lineno or first) + 1)
        kept = "\n".join(self.lines[k - 1] for k in lines if k not in dropped)
        return kept.replace("{\n}", "{}")  # a table of which nothing is left


class _Collector:
    """Gathers definitions, and what these name, from file to file."""

    def __init__(self, words: frozenset[str]) -> None:
        self._words = words
        self._files: dict[str, _File] = {}
        self._done: dict[str, dict[str, str]] = {}
        self._imported: set[tuple[str, str]] = {("pathlib", "Path")}

    def add(self, module: str, name: str) -> None:
        """Take a definition, and all that it names."""
        if name in self._done.get(module, {}):
            return
        file = self._files.setdefault(module, _File(module))
        text = file.text(file.definitions[name], self._words)
        self._done.setdefault(module, {})[name] = text
        self.add_names(module, text)
        # Files that were named come before this one.
        self._done[module] = self._done.pop(module)

    def add_names(self, module: str, text: str) -> None:
        """Take what a text of a file names."""
        file = self._files.setdefault(module, _File(module))
        for name in _names(text):
            if name in file.imports:
                where, there = file.imports[name]
                if where.partition(".")[0] == _PACKAGE:
                    self.add(where, there)
                else:
                    self._imported.add((where, there))
            elif name in file.definitions:
                self.add(module, name)

    def imports(self) -> str:
        """The lines that import from outside, the standard library first."""
        own = {(m, n) for m, n in self._imported if m.partition(".")[0] in sys.stdlib_module_names}
        parts = [_import_lines(own), _import_lines(self._imported - own)]
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

    def definitions(self) -> str:
        """All of them: file by file, each in its own order."""
        found = []
        for module, texts in self._done.items():
            order = list(self._files[module].definitions)
            found += [texts[name] for name in sorted(texts, key=order.index)]
        return "".join(map(_spaced, ["", *found], found))


def _spaced(before: str, text: str) -> str:
    """A definition after another one or after imports; constants of a line stand together."""
    constant = "\n" not in text
    if not before:
        return f"\n{text}" if constant else f"\n\n{text}"
    return f"\n{text}" if constant and "\n" not in before else f"\n\n\n{text}"


def _import_lines(wanted: set[tuple[str, str]]) -> list[str]:
    lines = [f"import {module}" for module, name in sorted(wanted) if not name]
    modules = sorted({module for module, name in wanted if name})
    for module in modules:
        names = sorted((n for m, n in wanted if m == module and n), key=_import_order)
        lines.append(f"from {module} import {', '.join(names)}")
    return lines


def _import_order(name: str) -> tuple[int, str]:
    """Constants, classes, the rest: as the code here has it."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2), name


def _names(text: str) -> Iterator[str]:
    """All names that a text reads, annotations included, in order and once."""
    tree = ast.parse(textwrap.dedent(text))
    yield from dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def _checks(node: ast.stmt, imports: Mapping[str, tuple[str, str]]) -> Iterator[ast.stmt]:
    """`if ...: raise` of the package's own errors."""
    for one in ast.walk(node):
        if not isinstance(one, ast.If) or len(one.body) != 1 or one.orelse:
            continue
        (done,) = one.body
        if isinstance(done, ast.Raise) and isinstance(done.exc, ast.Call):
            error = done.exc.func
            if isinstance(error, ast.Name) and error.id in imports:
                yield one


def _unused(node: ast.stmt, words: frozenset[str]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The rows of a table, name -> what it stands for, that no word names."""
    table = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if not isinstance(table, ast.Dict):
        return
    for key, entry in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and key.value not in words:
            yield key, entry


def _span(first: ast.stmt | ast.expr, last: ast.expr | None = None) -> range:
    end = (last or first).end_lineno
    return range(first.lineno, (end or first.lineno) + 1)


def _words(value: Any) -> Iterator[str]:
    """All texts in plain values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in (*value.keys(), *value.values()):
            yield from _words(each)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _words(each)


def _literal(value: Any, indent: int, name: str = "") -> str:
    """A plain value as Python, on several lines where it is too long for one."""
    line = _flat(value)
    fits = indent + len(name) + 1 + len(line) + 1 <= _WIDEST
    if fits or not isinstance(value, list | tuple | Mapping):
        return line
    deeper = indent + 4
    room = " " * deeper
    if isinstance(value, Mapping):
        rows = [f"{_flat(k)}: {_literal(v, deeper, _flat(k) + ' ')}" for k, v in value.items()]
        begin, end = "{}"
    else:
        rows = [_literal(each, deeper) for each in value]
        begin, end = "[]" if isinstance(value, list) else "()"
    return begin + "\n" + "".join(f"{room}{row},\n" for row in rows) + " " * indent + end


def _flat(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flat(k)}: {_flat(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flat, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_flat, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)
