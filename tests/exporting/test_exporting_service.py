"""Networks as HTTP services: runs, and folders for containers, which need no MeritNAS."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from meritnas.exporting.alone.service import Service
from meritnas.exporting.export import export
from meritnas.exporting.served_run import ServedRun
from meritnas.prediction.predictor import load_predictor

pytest.importorskip("uvicorn")

BLOCK = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"meritnas", "pandas", "safetensors"}:
            raise ImportError(f"{name} is not here")

sys.meta_path.insert(0, Refuse())
"""


def asked(
    service: Service, path: str, *pieces: bytes, method: str = "POST", **headers: str
) -> tuple[int, Any]:
    """The status and the answer of an ASGI application."""
    sent: list[Mapping[str, Any]] = []
    parts = list(pieces) or [b""]

    async def receive() -> Mapping[str, Any]:
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "path": path, "method": method, "headers": raw}
    asyncio.run(service(scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_rows_are_answered_and_nonsense_is_refused(table_run: Path, frame: pd.DataFrame) -> None:
    predictor = load_predictor(table_run)
    service = Service(ServedRun(predictor), max_request_mb=0.1)
    new = frame.drop(columns="churn").iloc[:9]
    known = predictor.table(new).to_dict("records")
    rows = json.loads(new.to_json(orient="records"))
    for body in (rows, {"rows": rows}):
        status, found = asked(service, "/predict", json.dumps(body).encode())
        assert (status, found) == (200, {"predictions": known})
    status, found = asked(
        service, "/predict", new.to_csv(index=False).encode(), content_type="text/csv; charset=u"
    )
    assert (status, found["predictions"]) == (200, known)
    assert asked(service, "/health", method="GET") == (200, {"status": "ok", "target": "churn"})
    odd = [{**rows[0], "hight": 1}]
    for status, words, path, body, headers in (
        (400, "unknown columns: hight", "/predict", json.dumps(odd).encode(), {}),
        (400, "the table lacks 7 columns", "/predict", b'[{"city": "Ulm"}]', {}),
        (400, "no JSON", "/predict", b'{"rows": [', {}),
        (400, "NaN is no JSON", "/predict", b'[{"city": NaN}]', {}),
        (400, "no JSON", "/predict", b"\xff\xfe", {}),
        (400, "no JSON", "/predict", b"[" * 90_000, {}),
        (400, "give rows as", "/predict", b'{"rows": [1]}', {}),
        (400, "the body is empty", "/predict", b"\n", {"content_type": "text/csv"}),
        (400, "'height' holds 'tall'", "/predict", json.dumps(
            [{**rows[0], "height": "tall"}]).encode(), {}),
        (404, "nothing at /secret", "/secret", b"", {}),
        (415, "text/xml is not read", "/predict", b"<a/>", {"content_type": "text/xml"}),
        (413, "at most 100,000 bytes", "/predict", b"", {"content_length": "1000000000"}),
        (413, "at most 100,000 bytes", "/predict", b"x" * 100_001, {}),
    ):  # fmt: skip
        found = asked(service, path, body, **headers)
        assert (found[0], words in found[1]["error"]) == (status, True), found
    assert asked(service, "/predict", method="GET")[0] == 405
    assert asked(service, "/predict", *[b"x" * 60_000] * 2)[0] == 413


def test_pictures_and_prompts(
    image_run: Path, text_run: Path, pixels: np.ndarray, tmp_path: Path
) -> None:
    Image.fromarray(pixels[0]).save(tmp_path / "one.png")
    service = Service(ServedRun(load_predictor(image_run)))
    body = (tmp_path / "one.png").read_bytes()
    status, found = asked(service, "/predict", body, content_type="image/png")
    known = load_predictor(image_run).table(pixels[:1]).to_dict("records")
    assert status == 200
    assert found["predictions"] == pytest.approx(known[0]) or found["predictions"] == known
    assert asked(service, "/predict", b"no picture", content_type="image/png")[0] == 400
    writer = Service(ServedRun(load_predictor(text_run)))
    status, found = asked(writer, "/predict", b'{"prompt": "the cat", "words": 4}')
    assert (status, len(found["text"].split())) == (200, 6)
    assert asked(writer, "/predict", b'{"promt": "the cat"}')[0] == 400
    assert asked(writer, "/predict", b'{"words": 0}')[0] == 400


@contextmanager
def served(*command: object, **environment: str) -> Iterator[int]:
    """A service on a free port of this machine, while it is needed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, *map(str, command), "--port", str(port)],
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    try:
        yield port
    finally:
        process.terminate()
        process.wait(20)


def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            answer(http.client.HTTPConnection("127.0.0.1", port, timeout=20), "GET", "/health")
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the service does not answer")


def answer(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes = b""
) -> tuple[int, Any]:
    connection.request(method, path, body, {"Content-Type": "application/json"})
    found = connection.getresponse()
    return found.status, json.loads(found.read())


def test_many_clients_at_once(table_run: Path, frame: pd.DataFrame, tmp_path: Path) -> None:
    """The run itself, and the folder of a container where MeritNAS is not."""
    files = export(table_run, "docker", tmp_path / "box")
    assert files[0].read_text().count("COPY") == 1
    shutil.rmtree(tmp_path / "box" / "__pycache__", ignore_errors=True)
    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    new = frame.drop(columns="churn")
    known = load_predictor(table_run).table(new).to_dict("records")
    bodies = [json.dumps([row]).encode() for row in json.loads(new.to_json(orient="records"))]

    def client(port: int, first: int, requests: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for number in range(first, first + requests):
            place = number % len(bodies)
            status, found = answer(connection, "POST", "/predict", bodies[place])
            assert status == 200
            expected = known[place]
            assert found["predictions"][0]["predicted_churn"] == expected["predicted_churn"]
            for name in ("probability_no", "probability_yes"):
                assert found["predictions"][0][name] == pytest.approx(expected[name], abs=1e-5)

    with (
        served("-m", "meritnas", "serve", table_run) as run,
        served(tmp_path / "box" / "service.py", PYTHONPATH=str(tmp_path)) as box,
        ThreadPoolExecutor(16) as clients,
    ):
        for port, each in ((run, 10), (box, 2)):
            wait_for(port)
            list(clients.map(lambda k, p=port, n=each: client(p, k * n, n), range(16)))
            huge = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            huge.putrequest("POST", "/predict")
            huge.putheader("Content-Length", str(10**9))
            huge.endheaders(b"x" * 1000)
            assert huge.getresponse().status == 413
            assert (
                answer(http.client.HTTPConnection("127.0.0.1", port), "POST", "/predict")[0] == 400
            )
