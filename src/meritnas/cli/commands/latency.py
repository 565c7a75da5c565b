"""The command `latency`: how long parts of networks take, here or on another device."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from meritnas.cli import arguments as arg
from meritnas.cli.chosen import Chosen
from meritnas.cli.commands.search import asked_for
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.flags import Owner, given_values, with_parameters
from meritnas.cli.messages import tell
from meritnas.errors import UsageError
from meritnas.store.whole_files import write_new

_Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Time all parts here, and write their times there."),
]
_List = Annotated[
    Path | None,
    typer.Option(
        "--list",
        metavar="FILE",
        help="Write the parts there, and device_times.py beside, to time them on another device.",
    ),
]


def make_latency(chosen: Chosen, owned: Sequence[Owner]) -> Callable[..., None]:
    """The command, with the flags of the space and the strategy that were named."""

    def latency(
        data: str | None,
        target: str | None,
        out: Path | None,
        listed: Path | None,
        config: Path | None,
        **settings: Any,
    ) -> None:
        del config
        given = given_values({"data": data, "target": target, **settings})
        with plain_outcome(lambda: "nothing was written"):
            if (out is None) == (listed is None):
                raise UsageError(
                    "give --out FILE to time parts on this machine, or --list FILE to write them "
                    "down for another one"
                )
            asked = asked_for(chosen, given)
            from meritnas.families import device_times  # here: --help must not wait for torch
            from meritnas.families.part_times import Listing, Measuring
            from meritnas.run.part_times import time_parts

            clock: Listing | Measuring
            if listed is not None:
                clock, file = Listing(), listed
            else:
                assert out is not None
                clock, file = Measuring(asked.request.run.device), out
            time_parts(asked.data, asked.target, asked.request, clock)
            write_new(file, json.dumps(clock.table(), indent=1).encode())
            tell(str(file))
            if listed is not None:
                script = listed.parent / "device_times.py"
                if not script.exists():
                    write_new(script, Path(device_times.__file__).read_bytes())
                tell(f"on the device: python device_times.py {listed.name} times.json")

    latency.__doc__ = """Time the parts of the networks that a search would choose from.

    A network's latency is the sum over its parts. For example:
    meritnas latency sales.csv --target churn --out times.json, and then
    meritnas search sales.csv --target churn --max-latency-ms 0.2 --latency-table times.json
    """
    return with_parameters(
        latency,
        [arg.own_parameter("data", arg.Data), arg.own_parameter("target", arg.Target)],
        owned,
        [
            arg.own_parameter("out", _Out),
            arg.own_parameter("listed", _List),
            arg.own_parameter("config", arg.Config),
        ],
    )
