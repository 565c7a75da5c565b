"""Definitions taken from the files they are written in, with all that they name.

So a network, or a program, leaves as source that needs no MeritNAS, and nothing is written twice.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from itertools import count

_PACKAGE = __name__.partition(".")[0]


class _File:
    """What a file has at its top level: imports and definitions, by name."""

    def __init__(self, name: str) -> None:
        self.lines = inspect.getsource(import_module(name)).splitlines()
        self.tree = ast.parse("\n".join(self.lines))

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """Name -> (module, the name there and perhaps here; empty for the module itself)."""
        found: dict[str, tuple[str, str]] = {}
        for node in _statements(self.tree):
            if isinstance(node, ast.Import):
                found |= {_called(alias): (_as_written(alias), "") for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    found[alias.asname or alias.name] = (str(node.module), _as_written(alias))
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

    def text(
        self,
        node: ast.stmt,
        words: frozenset[str] | None,
        *,
        checks: bool,
        without: frozenset[str],
    ) -> str:
        """A definition, perhaps without checks, some methods and rows of a table."""
        left_out = [] if checks else list(_checks(node, self.imports))
        dropped = {line for one in left_out for line in _span(one)}
        if words is not None:
            dropped |= {line for one in _unused(node, words) for line in _span(*one)}
        dropped |= {line for one in _methods(node, without) for line in _method_span(one)}
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        lines = range(first, (node.end_lineno or first) + 1)
        kept = "\n".join(self.lines[k - 1] for k in lines if k not in dropped)
        return kept.replace("{\n}", "{}")  # a table of which nothing is left


class Collector:
    """Gathers definitions, and what these name, from file to file.

    Args:
        words: of tables of what names stand for, the names that are needed; None for all.
        checks: whether checks that raise the package's own errors are taken, too.
        without: names of methods that are not needed.
    """

    def __init__(
        self,
        words: frozenset[str] | None = None,
        *,
        checks: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self._words = words
        self._checks = checks
        self._without = without
        self._files: dict[str, _File] = {}
        self._done: dict[str, dict[str, str]] = {}
        self._imported: set[tuple[str, str]] = {("pathlib", "Path")}

    def add(self, module: str, name: str) -> None:
        """Take a definition, and all that it names."""
        if name in self._done.get(module, {}):
            return
        file = self._files.setdefault(module, _File(module))
        node = file.definitions[name]
        text = file.text(node, self._words, checks=self._checks, without=self._without)
        self._done.setdefault(module, {})[name] = text
        self.add_names(module, text)
        # Files that were named come before this one.
        self._done[module] = self._done.pop(module)

    def need(self, module: str, name: str = "") -> None:
        """Import something from outside, or a whole module."""
        self._imported.add((module, name))

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
        own = {(m, n) for m, n in self._imported if _outermost(m) in sys.stdlib_module_names}
        parts = [_import_lines(own), _import_lines(self._imported - own)]
        return "\n\n".join("\n".join(lines) for lines in parts if lines)

    def definitions(self) -> str:
        """All of them: file by file, each in its own order."""
        found: list[str] = []
        taken: set[str] = set()
        for module, texts in self._done.items():
            order = list(self._files[module].definitions)
            names = sorted(texts, key=order.index)
            anew = _renamed(names, taken)
            taken |= {anew.get(name, name) for name in names}
            found += [_with_names(texts[name], anew) for name in names]
        return "".join(map(_spaced, ["", *found], found))


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """What stands at the top level, and what is imported for types only."""
    for node in tree.body:
        typed = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        yield from node.body if isinstance(node, ast.If) and typed else (node,)


def _as_written(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def _called(alias: ast.alias) -> str:
    """What code calls a module that it imports."""
    return alias.asname or alias.name.partition(".")[0]


def _outermost(module: str) -> str:
    return module.partition(" ")[0].partition(".")[0]


def _methods(node: ast.stmt, names: frozenset[str]) -> Iterator[ast.FunctionDef]:
    for one in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(one, ast.FunctionDef) and one.name in names:
            yield one


def _method_span(node: ast.FunctionDef) -> range:
    """Its lines, and the blank one before them."""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return range(first - 1, (node.end_lineno or first) + 1)


def _renamed(names: Sequence[str], taken: set[str]) -> dict[str, str]:
    """Other names for what is private to a file and called as in an earlier file."""
    anew: dict[str, str] = {}
    for name in names:
        if name in taken:
            assert name.startswith("_"), f"two public definitions are called {name}"
            anew[name] = next(f"{name}_{n}" for n in count(2) if f"{name}_{n}" not in taken)
    return anew


def _with_names(text: str, anew: Mapping[str, str]) -> str:
    for name, new in anew.items():
        text = re.sub(rf"\b{name}\b", new, text)
    return text


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
