"""The command `verify`: what a network costs by itself, held against its limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meritnas.cli import arguments as arg
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.flags import Owner, given_values, with_parameters
from meritnas.cli.help_text import switch
from meritnas.cli.messages import tell
from meritnas.cli.trusted import Trust, trusted
from meritnas.cli.values import read_given
from meritnas.settings.fields import settings_of
from meritnas.settings.limits import Limits

if TYPE_CHECKING:
    from meritnas.exporting.verify import Check, Verified

BREACHED = 1
"""Exit code where a limit is not kept."""

Subject = Annotated[
    Path,
    typer.Argument(
        metavar="RUN|FILE",
        help="A run; model.onnx, model.pt2, model.c, or a folder with model.py, that export wrote.",
    ),
]
Network = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Another network of the run's trade-off curve."),
]
RunCode = Annotated[
    bool, switch("--run-code", "Run model.py, to measure it: only files that you trust.")
]


def make_verify() -> Callable[..., None]:
    """The command, with a flag for each limit."""

    def verify(
        path: Path,
        network: str | None,
        run_code: bool,
        trust: list[str] | None,
        as_json: bool,
        **limits: Any,
    ) -> None:
        """Count and measure a network from what was written, and compare with its limits.

        The exit code is 1 if a limit is not kept. Limits are those of the search, unless others
        are given. For example: meritnas verify runs/wine/export/model.onnx --max-params 800
        """
        with plain_outcome(lambda: "nothing was written"):
            from meritnas.exporting.verify import (
                verify as measure,  # here: --help must not wait for torch
            )

            own = _limits(given_values(limits))
            named = trusted(path, trust) if (path / "config.json").is_file() else ()
            found = measure(path, own, network, run_code, named)
            if as_json:
                typer.echo(json.dumps(found.to_json()))
            else:
                _say(found)
            if not found.kept:
                raise typer.Exit(BREACHED)

    return with_parameters(
        verify,
        [arg.own_parameter("path", Subject, ...), arg.own_parameter("network", Network)],
        [Owner("limits", "", "Limits", settings_of(Limits))],
        [
            arg.own_parameter("run_code", RunCode, False),
            arg.own_parameter("trust", Trust),
            arg.own_parameter("as_json", arg.AsJson, False),
        ],
    )


def _limits(given: Mapping[str, Any]) -> Limits | None:
    """The limits on the line; None for the network's own."""
    settings = {setting.flag: setting for setting in settings_of(Limits)}
    found = {settings[flag].name: read_given(settings[flag], v) for flag, v in given.items()}
    return Limits(**found) if found else None


def _say(found: Verified) -> None:
    for check in found.checks:
        tell(_line(check))
    for text in found.rungs:
        tell(text)
    limited = [check for check in found.checks if check.limit is not None]
    if not limited:
        tell("no limits to compare with")
    elif found.kept:
        untold = sum(check.found is None for check in limited)
        rest = f", as far as this form tells: {untold} of {len(limited)} untold" if untold else ""
        all_untold = "this form does not tell whether limits are kept"
        tell(all_untold if untold == len(limited) else f"all limits are kept{rest}")


def _line(check: Check) -> str:
    from meritnas.report.names import amount_text, cost_name

    amount = "?" if check.found is None else amount_text(check.cost, check.found)
    told = f"{cost_name(check.cost)}: {amount}"
    if check.limit is not None:
        told += f" of at most {amount_text(check.cost, check.limit)}"
        told += ", BREACHED" if check.breached else "" if check.found is None else ", kept"
    return f"{told} ({check.how})"
