"""A program that answers for raw data, as one file that needs no MeritNAS."""

from __future__ import annotations

import json

from meritnas.data.kinds import kind_of
from meritnas.exporting.trained import Trained
from meritnas.families.collector import Collector

FILE = "predict.py"
ENCODER = "encoder.json"
"""What the program knows about the data, and about what is predicted."""

_ALONE = "meritnas.exporting.alone"
_NOT_NEEDED = frozenset(
    ("fit", "to_json", "own_names", "warnings", "unfamiliar", "describe", "constant", "far_off")
)
"""Methods that only learn from data, or only tell people about it."""

ANSWERS = ("program", "answer_files")
"""The command of most programs: its module in `alone`, and its name."""

WRITES = ("texts", "write_words")
"""That of programs of networks that write on."""

_BEGIN = '''"""Answers for new data of a network that MeritNAS found.

    python predict.py new.csv --out answers.csv

or, in Python, `Predictor().table(rows)`. {needs} README.md says more.
"""

from __future__ import annotations

'''
_END = """

if __name__ == "__main__":
    sys.exit({command}(Predictor))
"""


def program_files(trained: Trained) -> dict[str, bytes]:
    """`predict.py` and `encoder.json`; nothing where the data needs code of a user's own."""
    encoder, task = trained.predictor.encoder, trained.predictor.task
    kind = kind_of(encoder)
    module = kind.program(encoder)
    if not module:
        return {}
    told = {**task.to_json(), "threshold": task.threshold}
    known = json.dumps({"encoder": encoder.to_json(), "task": told}, ensure_ascii=False)
    source = program_source(module, WRITES if kind.writes else ANSWERS)
    return {FILE: source.encode(), ENCODER: known.encode()}


def program_source(module: str, command: tuple[str, str] = ANSWERS) -> str:
    """The file: the class `Predictor` of a module in `alone`, and all that it names."""
    collector = Collector(checks=True, without=_NOT_NEEDED)
    collector.add(f"{_ALONE}.{command[0]}", command[1])
    collector.add(f"{_ALONE}.{module}", "Predictor")
    imports, body = collector.imports(), collector.definitions()
    needs = "It needs numpy and torch" + (", and Pillow." if "from PIL" in imports else ".")
    return (
        _BEGIN.format(needs=needs) + imports + "\n" + body + "\n" + _END.format(command=command[1])
    )


_SERVICE = '''"""The network of this folder as a small HTTP service; needs numpy, torch and uvicorn.

    python service.py --port 8000
    curl localhost:8000/predict -H "Content-Type: text/csv" --data-binary @new.csv
"""

from __future__ import annotations

'''
_SERVED = """

if __name__ == "__main__":
    from predict import MeritNASError as BadData
    from predict import Predictor

    sys.exit(serve_folder(Predictor, BadData))
"""


def service_source() -> str:
    """The file of a service beside `predict.py`."""
    collector = Collector(checks=True, without=_NOT_NEEDED)
    collector.add(f"{_ALONE}.service", "serve_folder")
    return _SERVICE + collector.imports() + "\n" + collector.definitions() + "\n" + _SERVED
