"""The command `compare`: several strategies under the same conditions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from meritnas.cli import arguments as arg
from meritnas.cli.chosen import Chosen, name_of, split_strategies
from meritnas.cli.commands.search import asked_for
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.flags import Owner, given_values, with_parameters
from meritnas.cli.help_text import help_text
from meritnas.cli.messages import say
from meritnas.cli.names import listed_strategies
from meritnas.cli.values import read_given, read_text
from meritnas.errors import UsageError
from meritnas.progress.listener import Listener
from meritnas.progress.progress import make_progress
from meritnas.settings.spec import StrategySpec
from meritnas.store.checked_path import out_path
from meritnas.strategy.catalogue import options_of, strategy_spec

_NOT_ALIKE = ("strategy", "seed")
"""What every run of a comparison has of its own."""

Strategies = Annotated[
    str,
    typer.Option(
        help="Their names, separated by commas; options in parentheses: "
        "tabnas,tabnas(sampling=rejection),random.",
        metavar="NAME,NAME,...",
        autocompletion=listed_strategies,
    ),
]
Seeds = Annotated[int, typer.Option(metavar="N", help="How often each is run: seeds 0, 1, ...")]
Out = Annotated[
    str | None,
    typer.Option(
        help=help_text(
            "The folder for all runs; the same command goes on with what is in it.",
            "runs/DATA-compare",
        ),
        metavar="DIR",
        rich_help_panel="Run",
    ),
]


def make_compare(chosen: Chosen, owned: Sequence[Owner]) -> Callable[..., None]:
    """The command, which takes what `search` takes and runs it several times."""

    def compare(
        strategies: str,
        seeds: int,
        out: str | None,
        data: str | None,
        target: str | None,
        config: Path | None,
        quiet: bool,
        as_json: bool,
        **settings: Any,
    ) -> None:
        """Run several strategies under the same conditions and rank them.

        For example: meritnas compare digits --strategies tabnas,random --seeds 3 --epochs 20

        All else is as for search, and the same for all.
        """
        del config  # read before the flags were made
        listener = Listener(make_progress(quiet=quiet))
        with plain_outcome(lambda: "the same command goes on where it was"):
            given = given_values({**settings, "data": data, "target": target})
            if data is None and "data" not in chosen.config:
                raise UsageError("name data to compare on, for example: meritnas compare digits")
            for_all = _taken_out(given, owned)
            specs = [read_strategy(text, for_all) for text in split_strategies(strategies)]
            asked = asked_for(_for_all(chosen), given)
            usual = asked.out or Path("runs") / f"{Path(asked.data).stem}-compare"
            folder = out_path(usual if out is None else out)

            from meritnas.comparison.comparison import compare_requests  # here: it takes torch

            with listener:
                found = compare_requests(
                    asked.data,
                    asked.target,
                    asked.request,
                    specs,
                    seeds,
                    folder,
                    _without_notes(listener),
                )
            _print(found, folder, as_json=as_json)

    return with_parameters(
        compare,
        [
            arg.own_parameter("data", arg.Data),
            arg.own_parameter("target", arg.Target),
            arg.own_parameter("strategies", Strategies, ...),
            arg.own_parameter("seeds", Seeds, 3),
        ],
        map(_alike, owned),
        [
            arg.own_parameter("out", Out),
            arg.own_parameter("config", arg.Config),
            arg.own_parameter("quiet", arg.Quiet, False),
            arg.own_parameter("as_json", arg.AsJson, False),
        ],
    )


def read_strategy(text: str, for_all: Mapping[str, Any]) -> StrategySpec:
    """A strategy as users write it: `tabnas`, or `tabnas(sampling=rejection,samples=4)`.

    Args:
        text: what they wrote.
        for_all: flag -> value, for all strategies alike.
    """
    name, (_, mark, rest) = name_of(text), text.partition("(")
    if mark and not rest.endswith(")"):
        raise UsageError(f"options of a strategy stand in parentheses, as in a(b=c); got '{text}'")
    own = options_of(name)
    by_flag = {setting.flag: setting for setting in own}
    options = {
        by_flag[flag].name if flag in by_flag else flag.replace("-", "_"): (
            read_given(by_flag[flag], value) if flag in by_flag else value
        )
        for flag, value in for_all.items()
    }
    by_name = {setting.name: setting for setting in own}
    for part in filter(None, rest.removesuffix(")").split(",")):
        option, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign:
            raise UsageError(f"an option of a strategy is written name=value; got '{part.strip()}'")
        option = option.replace("-", "_")
        options[option] = read_text(by_name[option], value) if option in by_name else value
    return strategy_spec(name, options)


def _taken_out(given: dict[str, Any], found: Sequence[Owner]) -> dict[str, Any]:
    """The flags that are options of strategies; they are no longer among those given."""
    flags = {s.flag for owner in found if owner.role == "strategy" for s in owner.settings}
    others = {s.flag for owner in found if owner.role != "strategy" for s in owner.settings}
    return {flag: given.pop(flag) for flag in list(given) if flag in flags - others}


def _for_all(chosen: Chosen) -> Chosen:
    """Without what every run of a comparison has of its own, also in the config file."""
    config = {name: value for name, value in chosen.config.items() if name not in _NOT_ALIKE}
    return replace(chosen, strategy=None, config=config)


def _alike(owner: Owner) -> Owner:
    left = tuple(s for s in owner.settings if owner.role != "request" or s.name not in _NOT_ALIKE)
    return replace(owner, settings=left)


def _print(found: Any, folder: Path, *, as_json: bool) -> None:
    from meritnas.report.terminal.comparison_table import comparison_table

    plain = found.to_json()
    if as_json:
        typer.echo(json.dumps(plain))
        return
    Console(highlight=False, markup=False).print(comparison_table(plain))
    say(f"all runs are in {folder}, drawn in {found.figure}")


def _without_notes(listener: Listener) -> Callable[[dict[str, Any]], None]:
    """Notes are about the data, the same in every run."""

    def hear(event: dict[str, Any]) -> None:
        if event["kind"] != "note":
            listener(event)

    return hear
