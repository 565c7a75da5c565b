from __future__ import annotations

import sys
from pathlib import Path

import pytest

from meritnas import search
from meritnas.errors import UsageError
from meritnas.families.catalogue import space_spec
from meritnas.plugins import load_own, own_code
from meritnas.strategy.catalogue import strategy_spec

MINE = """
import functools

def one(x): return 3

def two(inputs, outputs): return 3

def fails(inputs, outputs): return {}["gone"]

def no_strategy(problem): return 5

def failing(problem): raise OSError("nothing\\nworks")

def without_types(inputs, outputs, *, size=3): return size

def unknown_types(inputs, outputs, *, size: "Nowhere" = 3): return size

@functools.cache
def kept(problem): return problem

class Alone:
    def __init__(self): pass

thing = 4
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with modules of one's own, which are forgotten afterwards."""
    (tmp_path / "plugin_mine.py").write_text(MINE)
    (tmp_path / "plugin_fails.py").write_text("raise RuntimeError('no way\\nat all')\n")
    (tmp_path / "plugin_typo.py").write_text("def f(:\n")
    (tmp_path / "plugin_ends.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("plugin_")]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


NO_NAMES = [".:x", ":x", "x:", ":", "a:b:c", "a.:b", "..a:b", "a b:c", "a/b:c", "a-b:c", "1a:b"]


@pytest.mark.parametrize("name", [*NO_NAMES, "a:b.c", "a:b()", "a:b\n"])
@pytest.mark.parametrize("what", ["space", "strategy"])
def test_what_does_not_look_like_a_name_is_not_looked_for(name: str, what: str) -> None:
    before = list(sys.path)
    with pytest.raises(UsageError, match=f"(?s)no {what} '.*': write module:function, such as"):
        load_own(name, what)
    assert sys.path == before


@pytest.mark.parametrize("make", [space_spec, strategy_spec])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plugin_nowhere:f", "No module named 'plugin_nowhere'; write module:function"),
        ("plugin_mine:gone", "module 'plugin_mine' has no attribute 'gone'"),
        ("plugin_fails:f", r"cannot be imported \(RuntimeError: no way at all, at .*py:1\)"),
        ("plugin_typo:f", r"cannot be imported \(SyntaxError: invalid syntax"),
        ("plugin_ends:f", r"cannot be imported \(SystemExit: 0, at"),
        ("os:system", "must be a function or a class, written in Python, .* got <built-in"),
        ("plugin_mine:thing", "must be a function or a class, written in Python, .* got 4"),
        ("plugin_mine:Alone", r"must take \((inputs, outputs|problem)\) to make a .* takes \(\)"),
    ],
)
def test_what_makes_no_space_and_no_strategy_is_refused(
    mine: Path, make: object, name: str, words: str
) -> None:
    del mine
    with pytest.raises(UsageError, match=words) as refused:
        make(name)  # type: ignore[operator]
    assert "\n" not in str(refused.value)


def test_a_maker_of_spaces_takes_inputs_and_outputs(mine: Path) -> None:
    del mine
    with pytest.raises(UsageError, match=r"must take \(inputs, outputs\) .* and takes \(x\)"):
        space_spec("plugin_mine:one")
    made = space_spec("plugin_mine:without_types", {"size": 4})
    assert made.options() == {"size": 4}
    with pytest.raises(UsageError, match="size must be a whole number, got 'x'"):
        space_spec("plugin_mine:without_types", {"size": "x"})
    with pytest.raises(UsageError, match="NameError: name 'Nowhere' is not defined"):
        space_spec("plugin_mine:unknown_types")
    assert strategy_spec("plugin_mine:kept").options() == {}  # a decorated function is one


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"space": "plugin_mine:two"}, "must make a space, a meritnas Family, got a int"),
        ({"space": "plugin_mine:fails"}, "plugin_mine:fails failed with KeyError: 'gone', at .*py"),
        ({"strategy": "plugin_mine:no_strategy"}, "must make a strategy, and made 5, which has no"),
        ({"strategy": "plugin_mine:failing"}, "failed with OSError: nothing works, at .*py:12"),
    ],
)
def test_what_a_maker_gives_is_looked_at(mine: Path, given: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        search("wine", epochs=1, out=mine / "run", **given)  # type: ignore[arg-type]
    assert not (mine / "run").exists()


def test_errors_of_the_library_and_interruptions_pass_through_code_of_ones_own() -> None:
    with pytest.raises(UsageError, match=r"^mine$"), own_code("f"):
        raise UsageError("mine")
    with pytest.raises(KeyboardInterrupt), own_code("f"):
        raise KeyboardInterrupt
