"""The numbers that are read first: score, limits, and what they are to be compared with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from meritnas.report.names import amount_text, cost_name, metric_name
from meritnas.report.numbers import count_text, score_text, share_text
from meritnas.report.page.section import Tile
from meritnas.report.terminal.summary import OTHERS, kind_of_data


def answer_tiles(result: Mapping[str, Any]) -> tuple[Tile, ...]:
    """Of a run that has a result: score, limits, yardsticks, the best plain network."""
    metric = next(iter(result.get("test", ())), None)
    tiles = [*_scores(result, metric), *_costs(result)]
    if metric is not None:
        tiles += [*_yardsticks(result, metric), *_plain(result, metric)]
    return tuple(tiles)


def _scores(result: Mapping[str, Any], metric: str | None) -> Iterator[Tile]:
    if metric is None:
        return
    seeds = int(result.get("retrain_seeds", 1))
    spread = result.get("test_spread", {}).get(metric) if seeds > 1 else None
    note = f"held-out {kind_of_data(result).rows}, "
    note += f"mean of {seeds} trainings" if seeds > 1 else "1 training, so nobody knows its spread"
    yield Tile(f"test {metric_name(metric)}", score_text(result["test"][metric], spread), note)


def _costs(result: Mapping[str, Any]) -> Iterator[Tile]:
    limits = result.get("limits") or {}
    costs = {"params": result.get("params"), **result.get("costs", {})}
    for name, most in limits.items():
        if (cost := costs.get(name)) is not None:
            note = f"of at most {amount_text(name, most)} ({share_text(cost / most)})"
            yield Tile(cost_name(name), amount_text(name, cost), note)
    if "params" not in limits and costs["params"] is not None:
        yield Tile(cost_name("params"), count_text(costs["params"]), "no limit")


def _yardsticks(result: Mapping[str, Any], metric: str) -> Iterator[Tile]:
    found = result.get("yardstick") or {}
    for part, name in OTHERS.items():
        if metric in found.get(part, {}):
            note = f"{metric_name(metric)} on {found['tested']:,} test rows"
            yield Tile(name, score_text(found[part][metric]), note)


def _plain(result: Mapping[str, Any], metric: str) -> Iterator[Tile]:
    plain = result.get("plain")
    if plain and metric in plain.get("test", {}):
        note = f"{plain['short']}, {plain['params']:,} parameters"
        note += "; it won the race" if plain["won"] else ""
        yield Tile("a plain network", score_text(plain["test"][metric]), note)
