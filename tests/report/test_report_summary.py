from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from meritnas.families.nasbench201.family import nasbench201_space
from meritnas.report.terminal.summary import summary_rows, summary_table

SUMMARY: dict[str, Any] = {
    "architecture": "24-24-48",
    "params": 3778,
    "costs": {"params": 3778, "params-paper": 3700, "flops": 3672},
    "limits": {"params": 4000},
    "feasible_share": 149 / 8000,
    "feasible_count": 149,
    "space_count": 8000,
    "exact": True,
    "test": {"accuracy": 0.97493, "log_loss": 0.08678},
    "test_spread": {"accuracy": 0.00279, "log_loss": 0.011},
    "retrain_seeds": 3,
    "seconds": 13.04,
    "run": "runs/digits-tabnas-1",
}


def printed(summary: dict[str, Any]) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=80).print(summary_table(summary))
    return [line.strip() for line in file.getvalue().splitlines() if line.strip()]


def test_the_table_says_it_all() -> None:
    assert printed(SUMMARY) == [
        "network          24-24-48",
        "parameters       3,778 of at most 4,000 (94 %)",
        "fit the limits   149 of 8,000 networks (1.8 %)",
        "test accuracy    0.975 ± 0.003  (held-out rows, 3 trainings)",
        "test log loss    0.0868 ± 0.0110",
        "time             13.0 s",
        "run folder       runs/digits-tabnas-1",
    ]


def test_every_limited_cost_has_a_row() -> None:
    limits = {"params": 4000, "flops": 3672, "watts": 5}
    costs = {**SUMMARY["costs"], "watts": 3}
    rows = dict(summary_rows({**SUMMARY, "limits": limits, "costs": costs}))
    assert rows["multiply-adds"] == "3,672 of at most 3,672 (100 %)"
    assert rows["watts"] == "3 of at most 5 (60 %)"
    assert "parameters, as papers count" not in rows


def test_without_limits_and_spread() -> None:
    summary = {
        **SUMMARY,
        "limits": {},
        "feasible_count": 8000,
        "feasible_share": 1.0,
        "retrain_seeds": 1,
    }
    rows = dict(summary_rows(summary))
    assert rows["parameters"] == "3,778 (no limit)"
    assert "fit the limits" not in rows
    assert rows["test accuracy"] == "0.975  (held-out rows, 1 training)"


def test_an_inexact_count_is_a_lower_bound() -> None:
    assert dict(summary_rows({**SUMMARY, "exact": False}))["fit the limits"].startswith("at least")


def test_long_texts_and_brackets_stay_whole() -> None:
    run = "/".join(["[bold]folder"] * 20)
    lines = printed({**SUMMARY, "run": run})
    assert run in "".join(line.removeprefix("run folder").strip() for line in lines)
    assert max(map(len, lines)) <= 80


def test_sizes_and_times_are_in_users_units() -> None:
    limits = {"size": 20_000, "latency": 250}
    costs = {**SUMMARY["costs"], "size": 15_620, "latency": 180}
    summary = {**SUMMARY, "limits": limits, "costs": costs, "measured_latency": 203}
    rows = summary_rows(summary)
    named = dict(rows)
    assert named["parameters"] == "3,778 (no limit)"
    assert named["stored size"] == "15.6 kB of at most 20.0 kB (78 %)"
    assert named["latency"] == "0.180 ms of at most 0.250 ms (72 %)"
    after = rows[[name for name, _ in rows].index("latency") + 1]
    assert after == ("", "by its layers; 0.203 ms measured of the whole network")
    assert "stored size" not in dict(summary_rows({**summary, "limits": {}}))


def test_images_are_images_and_the_best_of_several_trainings_is_told() -> None:
    network = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"
    summary = {
        **SUMMARY,
        "architecture": network,
        "lines": nasbench201_space().lines(network),
        "space": "nasbench201",
        "test_best": {"accuracy": 0.98112, "log_loss": 0.08},
    }
    lines = printed(summary)
    assert lines[:3] == ["network          |none~0|+", "|none~0|none~1|+", "|none~0|none~1|none~2|"]
    place = lines.index("test accuracy    0.975 ± 0.003  (held-out images, 3 trainings)")
    assert lines[place + 1] == "best of 3 by validation 0.981"
    assert sum("best of" in line for line in lines) == 1
    del summary["lines"]  # as runs of earlier versions have it
    assert printed(summary)[0] == f"network          {network}"
    assert "best of" not in " ".join(printed({**summary, "retrain_seeds": 1}))


def test_what_a_network_was_tried_on_goes_by_the_data_not_by_the_space() -> None:
    kinds = {"table": "rows", "text": "words", "modalities": "samples", "images": "images"}
    for kind, words in kinds.items():
        told = dict(summary_rows({**SUMMARY, "space": "mine:Own", "data_kind": kind}))
        assert f"(held-out {words}, " in told["test accuracy"]


@pytest.mark.parametrize("name", ["test", "test_spread", "limits", "params", "seconds"])
def test_what_a_file_has_lost_costs_its_own_rows_only(name: str) -> None:
    whole = summary_rows(SUMMARY)
    rows = summary_rows({key: value for key, value in SUMMARY.items() if key != name})
    assert len(rows) in (len(whole) - 2, len(whole) - 1, len(whole))
    assert rows != whole
    assert {name for name, _ in rows} <= {name for name, _ in whole}
