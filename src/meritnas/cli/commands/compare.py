"""The command `compare`: several strategies under the same conditions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from meritnas.cli import arguments as arg
from meritnas.cli.chosen import Chosen, split_strategies
from meritnas.cli.commands.search import asked_for
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.flags import Owner, flag_parameters, given_values, with_parameters
from meritnas.cli.messages import say
from meritnas.cli.progress.listener import Listener
from meritnas.cli.request import owners
from meritnas.cli.values import reader
from meritnas.errors import UsageError
from meritnas.settings.spec import StrategySpec
from meritnas.strategy.catalogue import options_of, strategy_spec

_NOT_ALIKE = ("strategy", "seed")
"""What every run of a comparison has of its own."""

Strategies = Annotated[
    str,
    typer.Option(
        help="Their names, separated by commas; options in parentheses: "
        "tabnas,tabnas(sampling=rejection),random.",
        metavar="NAME,NAME,...",
    ),
]
Seeds = Annotated[int, typer.Option(help="How often each is run: seeds 0, 1, ...")]
Out = Annotated[
    Path | None,
    typer.Option(
        help="The folder for all runs; the same command goes on with what is in it.",
        show_default="runs/DATA-compare",
        metavar="DIR",
    ),
]


def make_compare(chosen: Chosen) -> Callable[..., None]:
    """The command, which takes what `search` takes and runs it several times."""

    def compare(
        strategies: str,
        seeds: int,
        out: Path | None,
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
        listener = Listener(quiet=quiet)
        with plain_outcome(lambda: "the same command goes on where it was"):
            given = given_values({**settings, "data": data, "target": target})
            if data is None and "data" not in chosen.config:
                raise UsageError("name data to compare on, for example: meritnas compare digits")
            listed = split_strategies(strategies)
            for_all = _taken_out(given, listed)
            specs = [read_strategy(text, for_all) for text in listed]
            asked = asked_for(replace(chosen, strategy=None), given)
            folder = out or Path(asked.out or Path("runs") / f"{Path(asked.data).stem}-compare")

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
            arg.own_parameter("strategies", Strategies, ...),
            arg.own_parameter("seeds", Seeds, 3),
            arg.own_parameter("out", Out),
            arg.own_parameter("data", arg.Data),
            arg.own_parameter("target", arg.Target),
            *flag_parameters(map(_alike, owners(chosen))),
            arg.own_parameter("config", arg.Config),
            arg.own_parameter("quiet", arg.Quiet, False),
            arg.own_parameter("as_json", arg.AsJson, False),
        ],
    )


def read_strategy(text: str, for_all: dict[str, Any]) -> StrategySpec:
    """A strategy as users write it: `tabnas`, or `tabnas(sampling=rejection,samples=4)`."""
    name, mark, rest = text.partition("(")
    if mark and not rest.endswith(")"):
        raise UsageError(f"options of a strategy stand in parentheses, as in a(b=c); got '{text}'")
    settings = {setting.name: setting for setting in options_of(name)}
    options = dict(for_all)
    for part in filter(None, rest.removesuffix(")").split(",")):
        option, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign:
            raise UsageError(f"an option of a strategy is written name=value; got '{part.strip()}'")
        option = option.replace("-", "_")
        setting = settings.get(option)
        options[option] = value if setting is None else _value(setting.kind, reader(setting), value)
    return strategy_spec(name, options)


def _value(kind: Any, read: Callable[[Any], Any] | None, text: str) -> Any:
    if kind is bool:
        if text not in ("true", "false"):
            raise UsageError(f"write true or false, got '{text}'")
        return text == "true"
    try:
        return read(text) if read is not None else float(text) if kind is float else text
    except ValueError as error:
        raise UsageError(str(error)) from error


def _taken_out(given: dict[str, Any], listed: tuple[str, ...]) -> dict[str, Any]:
    """The flags that are options of all strategies; they are no longer among those given."""
    names = {s.flag: s.name for text in listed for s in options_of(text.partition("(")[0])}
    return {names[flag]: given.pop(flag) for flag in list(given) if flag in names}


def _alike(owner: Owner) -> Owner:
    left = tuple(s for s in owner.settings if owner.role != "request" or s.name not in _NOT_ALIKE)
    return replace(owner, settings=left)


def _print(found: Any, folder: Path, *, as_json: bool) -> None:
    from meritnas.report.terminal.comparison_table import comparison_table

    plain = found.to_json()
    if as_json:
        typer.echo(json.dumps(plain))
        return
    Console(highlight=False).print(comparison_table(plain))
    say(f"all runs are in {folder}, drawn in {found.figure}")


def _without_notes(listener: Listener) -> Callable[[dict[str, Any]], None]:
    """Notes are about the data, the same in every run."""

    def hear(event: dict[str, Any]) -> None:
        if event["kind"] != "note":
            listener(event)

    return hear
