"""A network as a small HTTP service: an ASGI application, which uvicorn runs."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import Any

import numpy as np

from meritnas.data.answers import answer_columns
from meritnas.errors import DataError, MeritNASError
from meritnas.wording import listed

_ENDINGS = {
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "application/x-npz": ".npz",
}
_SECONDS_FOR_A_PIECE = 30.0
_MEGABYTE = 1_000_000


class RefusedError(Exception):
    """A request that is not answered: a status and a sentence."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Service:
    """`GET /health`, and `POST /predict` with rows as JSON, or with a file as the body.

    Requests are answered one after the other, by a thread of their own, so that the service goes
    on listening meanwhile.

    Args:
        known: `encoder`, `task`, `read(path)` and `outputs(data)` as the programs in this folder
            have them; of a language model `write(prompt, words, temperature, seed)`.
        max_request_mb: the largest body.
        bad_data: what `known` raises about data that it cannot answer for.
    """

    def __init__(
        self,
        known: Any,
        max_request_mb: float = 10.0,
        bad_data: type[Exception] = MeritNASError,
    ) -> None:
        self._known = known
        self._bad_data = (bad_data, MeritNASError)
        self._most = int(max_request_mb * _MEGABYTE)
        self._thread = ThreadPoolExecutor(max_workers=1)

    async def __call__(
        self,
        scope: Mapping[str, Any],
        receive: Callable[[], Awaitable[Mapping[str, Any]]],
        send: Callable[[Mapping[str, Any]], Awaitable[None]],
    ) -> None:
        """One connection, as ASGI has it."""
        if scope["type"] != "http":
            raise RuntimeError(f"this service knows http only, not {scope['type']}")
        try:
            status, found = 200, await self._answer(scope, receive)
        except RefusedError as error:
            status, found = error.status, {"error": str(error)}
        except self._bad_data as error:
            status, found = 400, {"error": str(error)}
        except Exception as error:  # what nobody has thought of must not end the service
            print(f"error: {error!r}", file=sys.stderr)
            status, found = 500, {"error": "the service has failed; its log says why"}
        body = json.dumps(found, allow_nan=False).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        if status != HTTPStatus.OK:
            headers.append((b"connection", b"close"))  # there may be more of a body
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(
        self, scope: Mapping[str, Any], receive: Callable[[], Awaitable[Mapping[str, Any]]]
    ) -> Any:
        path, method = scope["path"], scope["method"]
        wanted = {"/health": "GET", "/predict": "POST"}.get(path)
        if wanted is None:
            raise RefusedError(404, f"there is nothing at {path}; GET /health, POST /predict")
        if method != wanted:
            raise RefusedError(405, f"{path} takes {wanted}, not {method}")
        if path == "/health":
            return {"status": "ok", "target": self._known.task.target}
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        body = await self._body(headers, receive)
        kind = headers.get(b"content-type", "application/json").partition(";")[0].strip().lower()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._predicted, body, kind)

    async def _body(
        self,
        headers: Mapping[bytes, str],
        receive: Callable[[], Awaitable[Mapping[str, Any]]],
    ) -> bytes:
        told = headers.get(b"content-length", "0")
        large = RefusedError(413, f"a request has at most {self._most:,} bytes; send fewer rows")
        if not told.isdecimal() or int(told) > self._most:
            raise large
        body, more = bytearray(), True
        while more:
            try:
                piece = await asyncio.wait_for(receive(), _SECONDS_FOR_A_PIECE)
            except TimeoutError as error:
                raise RefusedError(408, "the rest of the request did not come") from error
            if piece["type"] == "http.disconnect":
                raise RefusedError(400, "the request has ended early")
            body += piece.get("body", b"")
            more = piece.get("more_body", False)
            if len(body) > self._most:
                raise large
        return bytes(body)

    def _predicted(self, body: bytes, kind: str) -> Any:
        if kind == "application/json":
            given = _json(body)
            if self._known.task.kind == "language":
                return _written(self._known, given)
            return self._records(_rows(given), None)
        if kind not in _ENDINGS:
            types = listed(("application/json", *_ENDINGS))
            raise RefusedError(415, f"a body of type {kind} is not read; types: {types}")
        if self._known.task.kind == "language":
            raise RefusedError(415, 'a language model reads JSON: {"prompt": "It was late"}')
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"body{_ENDINGS[kind]}"
            path.write_bytes(body)
            try:
                data, names = self._known.read(path)
                return self._records(data, names)
            except self._bad_data as error:
                raise RefusedError(400, str(error).replace(str(path), "the body")) from error

    def _records(self, data: Any, names: list[str] | None) -> dict[str, Any]:
        """The answers, a dict for each row; None in rows without one."""
        if not isinstance(data, np.ndarray):
            _check_names(data, self._known)
        columns = answer_columns(self._known.task, self._known.outputs(data))
        cells = [[_plain(cell) for cell in column.tolist()] for column in columns.values()]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)]
        if names is not None and len(names) > 1:
            rows = [{"file": name, **row} for name, row in zip(names, rows, strict=True)]
        return {"predictions": rows}


def _json(body: bytes) -> Any:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON; write null for what is missing")

    try:
        return json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"the body is no JSON ({error})") from error


def _rows(given: Any) -> list[dict[str, Any]]:
    rows = given.get("rows") if isinstance(given, dict) and "rows" in given else given
    rows = [rows] if isinstance(rows, dict) else rows
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise RefusedError(400, 'give rows as {"rows": [{"column": value, ...}, ...]}')
    return rows


def _written(known: Any, given: Any) -> dict[str, str]:
    usual = {"prompt": "", "words": 50, "temperature": 1.0, "seed": 0}
    if not isinstance(given, dict) or not set(given) <= set(usual):
        raise RefusedError(400, f"give an object with {listed(usual)}, or some of them")
    wanted = {**usual, **given}
    numbers = isinstance(wanted["temperature"], int | float)
    if not isinstance(wanted["prompt"], str) or not numbers:
        raise RefusedError(400, "prompt is a text, temperature a number")
    return {"text": known.write(**wanted)}


def _check_names(data: Any, known: Any) -> None:
    """Complains about columns that the network has never heard of: a slip, most of the time."""
    names = dict.fromkeys(name for row in data for name in row) if _is_list(data) else list(data)
    pictures = set(_named_pictures(known.encoder))
    asked = [str(name) for name in names if str(name) in pictures]
    if asked:
        raise DataError(
            f"the column {asked[0]} names pictures, and no file of this machine can be named in a "
            "request; leave it out, and rows are answered without"
        )
    heard = {*_known_names(known.encoder), known.task.target}
    strange = [str(n) for n in names if n not in heard and str(n).partition(".")[0] not in heard]
    if strange:
        raise DataError(f"unknown columns: {listed(strange)}; known are {listed(sorted(heard))}")


def _is_list(data: Any) -> bool:
    return isinstance(data, list)


def _known_names(encoder: Mapping[str, Any]) -> Iterator[str]:
    for modality in encoder.get("modalities", ()):
        yield modality["name"]
        yield from modality.get("columns", ())
        yield from _known_names(modality.get("encoder", {}))
    for kind in ("numbers", "dates", "categories", "dropped"):
        columns: Iterable[Mapping[str, str]] = encoder.get(kind, ())
        yield from (column["name"] for column in columns)


def _named_pictures(encoder: Mapping[str, Any]) -> Iterator[str]:
    """The columns that name pictures, and the modalities that these are."""
    for modality in encoder.get("modalities", ()):
        read = modality.get("read", modality)
        if read["kind"] == "picture" and read.get("columns"):
            yield read["name"]
            yield from read["columns"]


def _plain(cell: Any) -> Any:
    return None if isinstance(cell, float) and cell != cell else cell


def serve(service: Service, host: str, port: int) -> None:
    """Answer requests until the process is told to end."""
    try:
        import uvicorn
    except ImportError as missing:
        raise DataError(
            "the package uvicorn is not installed; install it with pip install uvicorn"
        ) from missing
    uvicorn.run(service, host=host, port=port, log_level="warning", lifespan="off")


def serve_folder(program: Callable[[], Any], bad_data: type[Exception]) -> int:
    """The command of `service.py`.

    Args:
        program: makes the network with all that turns data into answers.
        bad_data: what that raises about data that it cannot answer for.
    """
    parser = argparse.ArgumentParser(description="This network as a small HTTP service.")
    parser.add_argument("--host", default="127.0.0.1", help="usual: this machine only")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--max-request-mb", type=float, default=10.0)
    asked = parser.parse_args()
    try:
        service = Service(program(), asked.max_request_mb, bad_data)
        serve(service, asked.host, asked.port)
    except MeritNASError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
