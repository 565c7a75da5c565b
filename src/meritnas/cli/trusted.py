"""`--trust`: what of a user's own an existing run may have imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from meritnas.cli.messages import say
from meritnas.errors import UsageError

Trust = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE:NAME",
        help="Import this space, strategy or backbone of your own, which the run names; nothing "
        "that a run names is imported unasked. May be repeated.",
        show_default=False,
    ),
]


def trusted(run: Path | str, given: Sequence[str] | None) -> tuple[str, ...]:
    """What was named again, told in a line each.

    Args:
        run: its folder.
        given: what stands behind `--trust`.

    Raises:
        UsageError: The run does not name it.
    """
    if not given:
        return ()

    from meritnas.prepare.wanted_names import wanted_names  # here: --help must not wait for torch
    from meritnas.store.run_store import RunStore

    wanted = wanted_names(RunStore.open(Path(run)))
    for name in dict.fromkeys(given):
        if name not in wanted:
            named = ", ".join(sorted(wanted)) or "nothing of the kind"
            raise UsageError(f"{run} does not name '{name}', but {named}; leave out --trust {name}")
        say(f"note: {name} is imported, as --trust says")
    return tuple(given)
