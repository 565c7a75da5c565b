"""The command `search`: find a network for data within limits, and train it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from meritnas.cli import arguments as arg
from meritnas.cli.chosen import Chosen
from meritnas.cli.config_values import TOP
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.flags import Owner, given_values, with_parameters
from meritnas.cli.messages import resume_command, say
from meritnas.cli.request import Asked, assemble
from meritnas.cli.trusted import Trust, trusted
from meritnas.cli.who_trains import taken_out
from meritnas.errors import UsageError
from meritnas.progress.listener import Listener
from meritnas.progress.progress import make_progress
from meritnas.settings.request import RunOptions
from meritnas.workers.launch import Launch, launched

if TYPE_CHECKING:
    from meritnas.cli.live import LivePage


def make_search(chosen: Chosen, owned: Sequence[Owner], begun: float | None) -> Callable[..., None]:
    """The command, with the flags of the space and the strategy that were named."""

    def search(
        data: str | None,
        target: str | None,
        out: str | None,
        resume: Path | None,
        trust: list[str] | None,
        config: Path | None,
        print_config: bool,
        live: bool,
        live_port: int | None,
        tensorboard: bool,
        quiet: bool,
        as_json: bool,
        **settings: Any,
    ) -> None:
        listener = Listener(make_progress(quiet=quiet))
        given = given_values({"data": data, "target": target, **settings, "out": out})
        with plain_outcome(lambda: _way_on(listener.run or resume)):
            if trust and resume is None:
                raise UsageError("--trust goes with --resume; a new search imports what it names")
            who = RunOptions()
            if resume is not None:
                who = taken_out(given)
                _only_resume({**given, **given_values({"config": config})})
            elif print_config:
                _print_config(asked_for(chosen, given))
                return
            if tensorboard:
                from meritnas.report.tensorboard import TensorBoardEvents  # here: it takes torch

                listener.also(TensorBoardEvents())
            page = _page(listener, live_port) if live or live_port else nullcontext()
            with page, listener:
                summary = (
                    _go_on(resume, trust, listener, who)
                    if resume is not None
                    else _start(asked_for(chosen, given), listener, begun)
                )
            from meritnas.cli.print_result import print_result  # here: --help must not wait

            print_result(summary, as_json=as_json)

    search.__doc__ = f"""Find the best network for your data within your limits, and train it.

    For example: meritnas search sales.csv --target churn --max-params 20k

    Or: meritnas search photos/ --space darts --max-params 400k

    Or: meritnas search book.txt --space recurrent

    Or: meritnas search views.npz --target label --space fusion

    {_hint(chosen)}
    """
    return with_parameters(
        search,
        [arg.own_parameter("data", arg.Data), arg.own_parameter("target", arg.Target)],
        owned,
        [
            arg.own_parameter("out", arg.Out),
            arg.own_parameter("resume", arg.Resume),
            arg.own_parameter("trust", Trust),
            arg.own_parameter("config", arg.Config),
            arg.own_parameter("print_config", arg.PrintConfig, False),
            arg.own_parameter("live", arg.Live, False),
            arg.own_parameter("live_port", arg.LivePort),
            arg.own_parameter("tensorboard", arg.TensorBoard, False),
            arg.own_parameter("quiet", arg.Quiet, False),
            arg.own_parameter("as_json", arg.AsJson, False),
        ],
    )


def asked_for(chosen: Chosen, given: dict[str, Any]) -> Asked:
    """What flags and the config file ask for; complains where no data is named."""
    top = {name: _top(name, given.pop(name, None), chosen.config) for name in TOP}
    data = top["data"]
    if data is None:
        raise UsageError(
            "name data to search on, for example: meritnas search sales.csv --target churn "
            "(or continue a run with --resume RUN)"
        )
    return Asked(data, top["target"], top["out"], assemble(chosen, given, data))


def _top(name: str, given: Any, config: Mapping[str, Any]) -> str | None:
    """The data, the target or the folder, by a flag or else by the config file."""
    found = config.get(name) if given is None else str(given)
    if found is None or isinstance(found, str):
        return found
    raise UsageError(f"{name} must be a text, got {found!r}")


def _hint(chosen: Chosen) -> str:
    if chosen.space and chosen.strategy:
        return ""
    return (
        "Spaces and strategies have flags of their own: see them with --space NAME, "
        "--strategy NAME and --help together, or with meritnas list."
    )


def _print_config(asked: Asked) -> None:
    from meritnas.cli.config_file import config_text

    typer.echo(config_text(asked), nl=False)


def _page(listener: Listener, port: int | None) -> LivePage:
    from meritnas.cli.live import LivePage  # here: --help must not wait for a web server

    page = LivePage(lambda: listener.run, port or 0)
    say(f"the search as it goes: {page.address}")
    return page


def _start(asked: Asked, listener: Listener, begun: float | None) -> dict[str, Any]:
    from meritnas import api  # here, so that --help does not wait for torch

    launch = launched()
    if launch is not None and (folder := _begun_before(asked, launch)):
        return api.resume(folder, listen=listener).summary
    what = (asked.data, asked.target, asked.request, asked.out)
    return api.search_request(*what, listener, begun=begun).summary


def _begun_before(asked: Asked, launch: Launch) -> Path | None:
    """The run that this command began when torchrun started it before."""
    from meritnas.run.begin import has_begun
    from meritnas.run.joined_ranks import check_shares
    from meritnas.store.checked_path import out_path

    check_shares(launch, asked.request.workers)
    if asked.out is None:
        if launch.restarts:
            raise UsageError(
                "torchrun may start the search again (--max-restarts), which then goes on where "
                "it was: name its folder with --out"
            )
        return None
    folder = out_path(asked.out)
    return folder if has_begun(folder, asked.data, asked.target, asked.request) else None


def _only_resume(given: dict[str, Any]) -> None:
    if given:
        names = ", ".join("DATA" if name == "data" else f"--{name}" for name in given)
        raise UsageError(
            f"--resume continues a run with the settings it was started with; leave out {names}"
        )


def _go_on(
    run: Path, trust: list[str] | None, listener: Listener, who: RunOptions
) -> dict[str, Any]:
    from meritnas import api
    from meritnas.tasks.hire import executor_of

    named = trusted(run, trust)
    with executor_of(who) as executor:
        return api.resume(run, listen=listener, trust=named, executor=executor).summary


def _way_on(run: Path | None) -> str:
    return f"continue with: {resume_command(run)}" if run else "nothing was saved yet"
