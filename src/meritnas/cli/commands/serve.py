"""The command `serve`: a run's network as a small HTTP service."""

from __future__ import annotations

from typing import Annotated

import typer

from meritnas.cli import arguments as opt
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.help_text import help_text
from meritnas.cli.messages import say
from meritnas.cli.trusted import Trust, trusted
from meritnas.errors import UsageError


def serve(
    run: opt.Run,
    host: Annotated[
        str,
        typer.Option(
            metavar="HOST",
            help=help_text("Where it listens.", "this machine only"),
            show_default=False,
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", help="The port.", min=1, max=65535, show_default=True)
    ] = 8000,
    max_request_mb: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", help="The largest request, in megabytes.", show_default=True
        ),
    ] = 10.0,
    network: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Another network of the run's trade-off curve."),
    ] = None,
    trust: Trust = None,
) -> None:
    """Answer HTTP requests: POST /predict with rows as JSON or CSV, GET /health.

    It needs the extra: pip install 'meritnas[serve]'. For example:
    meritnas serve RUN --port 8000
    """
    with plain_outcome(lambda: "the service has ended"):
        if not 0 < max_request_mb < float("inf"):
            raise UsageError(f"max_request_mb must be above 0 and finite, got {max_request_mb}")

        from meritnas.exporting.alone.service import Service
        from meritnas.exporting.alone.service import serve as listen
        from meritnas.exporting.served_run import ServedRun, check_server
        from meritnas.prediction.predictor import load_predictor

        check_server()
        known = ServedRun(load_predictor(run, network, trusted(run, trust)))
        say(f"listening on http://{host}:{port}; Ctrl-C ends it")
        listen(Service(known, max_request_mb), host, port)
