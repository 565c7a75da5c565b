"""The page about a network that lies beside it: README.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from meritnas.data.kinds import kind_of
from meritnas.exporting.c_costs import c_lines
from meritnas.exporting.trained import Trained
from meritnas.report.names import amount_text, cost_name, metric_name
from meritnas.report.numbers import score_text
from meritnas.store.run_store import RunStore
from meritnas.version import __version__
from meritnas.wording import visible_line

FILE = "README.md"

_CALLS = {
    "predict.py": (
        "`python predict.py new.csv --out answers.csv`, or in Python `from predict import "
        "Predictor; Predictor().table(rows)`: raw {many} become answers. It needs `model.py`, "
        "`weights.safetensors` and `encoder.json` beside it, numpy and torch; for pictures Pillow."
    ),
    "weights-int8.safetensors": (
        "weights in whole numbers of 8 bits, instead of `weights.safetensors`, which `model.py` "
        "then reads; `weights-int8.json` has the scores beside those before."
    ),
    "model.py": (
        "`from model import load; load()(inputs)`: the network as a torch Module, for encoded "
        "inputs, which `preprocessing.json` describes. It needs torch."
    ),
    "raw.onnx": (
        "an input for each column of the table, by its name: float64 [n], NaN for missing, or "
        "texts [n], empty for missing; run it with onnxruntime."
    ),
    "model.onnx": "numbers and codes, see `preprocessing.json`: run it with onnxruntime.",
    "model-int8.onnx": (
        "the same in whole numbers of 8 bits; `int8.json` has its scores beside those before."
    ),
    "model.c": (
        "C99 without a heap: `cc -c model.c`, and `model_run` of `model.h`, which says what goes "
        "in and out."
    ),
    "model.pt2": "the same inputs as `model.onnx`; `torch.export.load('model.pt2').module()`.",
}


def card_files(
    trained: Trained, store: RunStore, in_c: Mapping[str, Any] | None = None
) -> dict[str, bytes]:
    """`README.md`: what the network is for, what it costs, how good it is, how to call it.

    The same for all forms of export, which may lie in one folder.

    Args:
        trained: the network.
        store: its run.
        in_c: what `c.json` says, where that is in the folder.
    """
    lines = _lines(trained, store.decode("result.json", dict), store, in_c)
    text = "\n".join(lines)
    return {FILE: (text.rstrip("\n") + "\n").encode("utf-8", "backslashreplace")}


def _lines(
    trained: Trained,
    result: Mapping[str, Any],
    store: RunStore,
    in_c: Mapping[str, Any] | None,
) -> Iterable[str]:
    predictor, family = trained.predictor, trained.family
    task, text = predictor.task, trained.architecture.text
    row = _row(result, text)
    kind = kind_of(predictor.encoder)
    data = str(result.get("data", "?"))
    what = f"the next {kind.rows}" if kind.writes else f"`{_plain(task.target)}`"
    yield f"# {family.short(text)}: {what} from {_plain(data)}"
    yield ""
    yield (
        f"A network of the space `{result.get('space', '?')}` that MeritNAS found"
        f" (strategy `{result.get('strategy', '?')}`, seed {result.get('seed', 0)})."
    )
    yield from _section("Network", [f"    {line}" for line in family.lines(text)])
    yield from _costs(trained, result)
    if in_c is not None:
        yield from _section("In C", c_lines(in_c))
    yield from _section("Data", _data(trained, data, store))
    if row:
        yield from _scores(row, result, kind.rows)
    yield from _section("To know", [f"- {_plain(str(note))}" for note in result.get("notes", ())])
    yield from _left_out(trained)
    calls = (f"- `{name}`: {call.format(many=kind.many)}" for name, call in _CALLS.items())
    yield from _section(
        "How to call it", [*calls, "", "Which of these are here depends on what was exported."]
    )
    yield from _section("Versions", _versions(store))


def _row(result: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """What a run says about one of its networks; nothing if it has no scores of it."""
    if result.get("architecture") == text:
        return result
    return next((row for row in result.get("pareto", ()) if row["architecture"] == text), {})


def _section(name: str, lines: Sequence[str]) -> Iterable[str]:
    if lines:
        yield from ("", f"## {name}", "", *lines)


def _costs(trained: Trained, result: Mapping[str, Any]) -> Iterable[str]:
    family, chosen = trained.family, trained.architecture
    own = result.get("architecture") == chosen.text
    limits = trained.limits
    rows = []
    for name in family.all_costs(chosen, limits):
        limit = amount_text(name, limits[name]) if name in limits else "none"
        rows.append([cost_name(name), amount_text(name, family.cost(chosen, name)), limit])
    yield from _table(["cost", "of this network", "limit"], rows)
    if "measured_latency" in result and own:
        measured = amount_text("latency", result["measured_latency"])
        yield from ("", f"Latency is a sum over layers; {measured} measured of the whole network.")


def _data(trained: Trained, data: str, store: RunStore) -> list[str]:
    kept = store.decode("config.json", dict).get("data", {})
    task = trained.predictor.task
    lines = [f"- {_plain(data)}; SHA-256 of its contents {kept.get('fingerprint', '?')}"]
    if task.classes:
        named = ", ".join(f"`{_plain(str(label))}`" for label in task.classes)
        lines.append(f"- classes of `{_plain(task.target)}`: {named}")
        if task.kind == "binary" and task.threshold != 0.5:
            second = f"`{_plain(str(task.classes[1]))}` is the answer where its probability is"
            lines.append(f"- {second} above {task.threshold:.6g}, as validation rows favoured")
    elif task.kind == "regression":
        told = f"mean {task.mean:g} and deviation {task.scale:g} in the train rows"
        lines.append(f"- `{_plain(task.target)}` is a number: {told}")
    return lines


def _scores(row: Mapping[str, Any], result: Mapping[str, Any], counted: str) -> Iterable[str]:
    """Of held-out rows: of this network, and of the best plain one."""
    seeds = int(result.get("retrain_seeds", 1))
    trainings = f"mean and deviation of {seeds} trainings" if seeds > 1 else "of one training"
    plain = result.get("plain")
    head = ["score", "this network"]
    if plain is not None:
        told = "this is it" if plain["won"] else f"{plain['params']:,} parameters"
        head.append(f"plain network {_plain(plain['short'])} ({told})")
    rows = []
    for name, mean in row.get("test", {}).items():
        spread = row.get("test_spread", {}).get(name) if seeds > 1 else None
        cells = [metric_name(name), score_text(mean, spread)]
        if plain is not None:
            other = plain["test"].get(name) if plain.get("test") else None
            cells.append("?" if other is None else score_text(other))
        rows.append(cells)
    yield from _section("Scores", [f"On held-out {counted}, {trainings}."])
    yield from _table(head, rows)


def _left_out(trained: Trained) -> Iterable[str]:
    """Columns that the network does not see, and why; and other warnings about the data."""
    encoder = trained.predictor.encoder
    columns = kind_of(encoder).columns(encoder)
    lines = [f"- `{_plain(c.column)}`: {_plain(c.details)}" for c in columns if c[1] == "left out"]
    told = [text for text in encoder.warnings if "is left out" not in text]
    yield from _section("Left out", lines)
    yield from _section("About the data", [f"- {_plain(text)}" for text in told])


def _versions(store: RunStore) -> list[str]:
    kept: Mapping[str, Any] = store.decode("config.json", dict).get("versions", {})
    return [
        f"Trained with {', '.join(f'{name} {version}' for name, version in kept.items())}; "
        f"exported by meritnas {__version__}."
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterable[str]:
    if rows:
        yield ""
        yield f"| {' | '.join(head)} |"
        yield f"|{'|'.join('---' for _ in head)}|"
        yield from (f"| {' | '.join(row)} |" for row in rows)


def _plain(text: str) -> str:
    """A name or a sentence on one line, without what Markdown or a terminal would take for more."""
    return visible_line(text).replace("|", "\\|").replace("`", "'").replace("<", "&lt;")
