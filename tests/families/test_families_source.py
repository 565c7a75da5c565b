from __future__ import annotations

import ast
import importlib
import inspect
import sys
from types import ModuleType

import pytest

from meritnas.families.source import network_source

CHILDREN = (
    *("operations", "drop_path", "tabular.child", "tabular.embed", "tabular.dropout"),
    *("nasbench201.child", "darts.child", "recurrent.child", "recurrent.cell", "fusion.child"),
    *("fusion.convolutions", "fusion.operations", "fusion.plain_child", "fusion.reader"),
    *("fusion.sparse_coding",),
)
CHECKS = {"meritnas.errors", "meritnas.wording"}


def module(name: str) -> ModuleType:
    return importlib.import_module(f"meritnas.families.{name}")


@pytest.mark.parametrize("name", CHILDREN)
def test_files_of_children_import_torch_and_each_other_only(name: str) -> None:
    allowed = {"torch", *sys.stdlib_module_names}
    for node in ast.walk(ast.parse(inspect.getsource(module(name)))):
        found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        for each in found:
            known = each.removeprefix("meritnas.families.") in CHILDREN or each in CHECKS
            assert known or each.partition(".")[0] in allowed, each


def test_long_values_are_laid_out_and_texts_are_safe() -> None:
    cell = module("nasbench201.child").CellNetwork
    arguments = {"operations": ["skip_connect"] * 6, "colours": 3, "channels": 4}
    text = '"""\\N{x}'
    source = network_source(cell, {**arguments, "cells": 1, "classes": 2}, text, "A cell.")
    compile(source, "model.py", "exec")
    assert '                "skip_connect",\n' in source
    assert "colours=3,\n" in source
    assert "nor_conv" not in source  # no edge has that
    assert "raise" not in source  # checks are for those who search
