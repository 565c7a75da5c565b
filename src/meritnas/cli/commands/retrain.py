"""The command `retrain`: a run's network anew, or a given network on data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from meritnas.cli import arguments as arg
from meritnas.cli.chosen import Chosen
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.flags import Owner, given_values, with_parameters
from meritnas.cli.help_text import help_text
from meritnas.cli.messages import resume_command
from meritnas.cli.newer_version import tell_newer_version
from meritnas.cli.request import assemble
from meritnas.cli.trusted import Trust, trusted
from meritnas.cli.who_trains import taken_out
from meritnas.data.files.plain_file import given_path
from meritnas.errors import UsageError
from meritnas.progress.listener import Listener
from meritnas.progress.progress import make_progress
from meritnas.settings.search_only import SEARCH_ONLY

_OWN_NAMES = ("retrain-epochs", "retrain-seeds")
"""Settings that are called `--epochs` and `--seeds` here."""

RunOrData = Annotated[
    str,
    typer.Argument(
        metavar="RUN|DATA",
        help="The folder that a search wrote; or data, to train a given network on it.",
        callback=tell_newer_version,
    ),
]
Architecture = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Another network of the same space, such as 32-144-24, a cell of NAS-Bench-201 "
        "or a genotype of DARTS; it must keep a run's limits.",
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help=help_text("Passes over the data.", "as before; with data as in a search"),
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help=help_text("How often it is trained.", "as before; with data as in a search"),
    ),
]


def make_retrain(chosen: Chosen, owned: Sequence[Owner]) -> Callable[..., None]:
    """The command, with the flags of the space that was named."""

    def retrain(
        run: str,
        architecture: str | None,
        epochs: int | None,
        seeds: int | None,
        target: str | None,
        out: str | None,
        trust: list[str] | None,
        quiet: bool,
        as_json: bool,
        **settings: Any,
    ) -> None:
        """Train a run's network anew: for longer, more often, or another architecture.

        The new network and its scores replace the old ones. With data instead of a run, train the
        architecture that is given on that data, into a new run.
        """
        is_run = (given_path(run) / "config.json").is_file()
        given = given_values({**settings, "target": target, "out": out})
        listener = Listener(make_progress(quiet=quiet), Path(run) if is_run else None)
        with plain_outcome(lambda: _way_on(listener.run, is_run=is_run)):
            with listener:
                if is_run:
                    named = trusted(run, trust)
                    summary = _again(run, architecture, epochs, seeds, given, listener, named)
                else:
                    _no_trust(run, trust)
                    summary = _given(chosen, run, architecture, epochs, seeds, given, listener)
            from meritnas.cli.print_result import print_result  # here: --help must not wait

            print_result(summary, as_json=as_json)

    return with_parameters(
        retrain,
        [
            arg.own_parameter("run", RunOrData, ...),
            arg.own_parameter("architecture", Architecture),
            arg.own_parameter("epochs", Epochs),
            arg.own_parameter("seeds", Seeds),
            arg.own_parameter("target", arg.Target),
        ],
        map(_without_search, owned),
        [
            arg.own_parameter("out", arg.Out),
            arg.own_parameter("trust", Trust),
            arg.own_parameter("quiet", arg.Quiet, False),
            arg.own_parameter("as_json", arg.AsJson, False),
        ],
    )


def _without_search(owner: Owner) -> Owner:
    """The flags that concern a network trained alone."""
    if owner.role in ("strategy", "limits"):
        return replace(owner, settings=())
    left = tuple(
        s for s in owner.settings if s.name not in SEARCH_ONLY and s.flag not in _OWN_NAMES
    )
    return replace(owner, settings=left)


def _again(
    run: str,
    architecture: str | None,
    epochs: int | None,
    seeds: int | None,
    given: dict[str, Any],
    listener: Listener,
    named: Sequence[str],
) -> dict[str, Any]:
    who = taken_out(given)
    if given:
        flags = ", ".join(f"--{name}" for name in sorted(given))
        raise UsageError(f"a run is retrained with its own settings; leave out {flags}")

    from meritnas import api  # here, so that --help does not wait for torch
    from meritnas.tasks.hire import executor_of

    with executor_of(who) as executor:
        found = api.retrain(
            run,
            architecture=architecture,
            epochs=epochs,
            seeds=seeds,
            listen=listener,
            trust=named,
            executor=executor,
        )
    return found.summary


def _no_trust(data: str, trust: list[str] | None) -> None:
    if trust:
        raise UsageError(
            f"--trust is for what a run names, and {data} is no run; name a space of your own "
            "with --space"
        )


def _given(
    chosen: Chosen,
    data: str,
    architecture: str | None,
    epochs: int | None,
    seeds: int | None,
    given: dict[str, Any],
    listener: Listener,
) -> dict[str, Any]:
    if architecture is None:
        raise UsageError(
            f"{data} is no run; to train a network on data, name it with --architecture (and its "
            "--space), or find one with: meritnas search"
        )
    target, out = given.pop("target", None), given.pop("out", None)
    own = {"retrain-epochs": epochs, "retrain-seeds": seeds}
    given |= {flag: value for flag, value in own.items() if value is not None}
    request = assemble(chosen, given, data)

    from meritnas import api

    return api.train_request(data, target, architecture, request, out, listener).summary


def _way_on(run: Path | None, *, is_run: bool) -> str:
    if is_run:
        return "the same command goes on where it was"
    return f"continue with: {resume_command(run)}" if run else "nothing was saved yet"
