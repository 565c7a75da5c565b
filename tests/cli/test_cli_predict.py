from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from cli_helpers import Outcome, table

Command = Callable[..., Outcome]


def answers(outcome: Outcome) -> pd.DataFrame:
    assert outcome.code == 0
    return pd.read_csv(io.StringIO(outcome.out))


def test_predictions_are_csv_on_standard_output(meritnas: Command, trained: Path) -> None:
    table(30, seed=1).drop(columns="churn").to_csv("new.csv", index=False)
    outcome = meritnas("predict", trained, "new.csv")
    found = answers(outcome)
    assert list(found.columns) == ["predicted_churn", "probability_no", "probability_yes"]
    assert len(found) == 30
    assert set(found["predicted_churn"]) <= {"yes", "no"}
    np.testing.assert_allclose(found.probability_no + found.probability_yes, 1, atol=1e-5)
    assert outcome.err == ""


def test_known_answers_are_scored_on_standard_error(meritnas: Command, trained: Path) -> None:
    table(30, seed=1).to_csv("new.csv", index=False)
    outcome = meritnas("predict", trained, "new.csv")
    found = answers(outcome)
    accuracy = float((found.predicted_churn == table(30, seed=1).churn).mean())
    assert f"30 rows with known 'churn': accuracy {accuracy:.3f}" in outcome.err
    assert meritnas("predict", trained, "new.csv", "--quiet").err == ""


def test_answers_of_one_class_or_of_none_are_no_obstacle(meritnas: Command, trained: Path) -> None:
    frame = table(30, seed=1)
    frame[frame.churn == "yes"].to_csv("yes.csv", index=False)
    outcome = meritnas("predict", trained, "yes.csv")
    assert outcome.code == 0
    assert "accuracy" in outcome.err
    assert "ROC" not in outcome.err
    frame.assign(churn="perhaps").to_csv("perhaps.csv", index=False)
    outcome = meritnas("predict", trained, "perhaps.csv")
    assert outcome.code == 0
    assert "note: not scored" in outcome.err


def test_order_and_further_columns_do_not_matter(meritnas: Command, trained: Path) -> None:
    frame = table(30, seed=1).drop(columns="churn")
    frame.to_csv("new.csv", index=False)
    frame[["city", "income", "height"]].assign(more=1).to_csv("shuffled.csv", index=False, sep=";")
    one, other = (meritnas("predict", trained, name) for name in ("new.csv", "shuffled.csv"))
    assert one.out == other.out


def test_unseen_categories_and_missing_values_work(meritnas: Command, trained: Path) -> None:
    frame = table(30, seed=1).drop(columns="churn")
    frame.loc[0, "city"] = "Atlantis"
    frame.loc[1, ["city", "height", "income"]] = None
    frame.to_csv("new.csv", index=False)
    found = answers(meritnas("predict", trained, "new.csv"))
    assert found.notna().all(axis=None)


def test_predictions_go_into_a_file(meritnas: Command, trained: Path, sales: Path) -> None:
    shown = meritnas("predict", trained, sales)
    outcome = meritnas("predict", trained, sales, "--out", "answers.csv")
    assert (outcome.code, outcome.out) == (0, "")
    assert Path("answers.csv").read_text() == shown.out
    Path("answers.csv").write_text("old")
    assert meritnas("predict", trained, sales, "--out", "answers.csv", "--force").code == 0
    assert Path("answers.csv").read_text() == shown.out
    assert sorted(path.name for path in Path().iterdir()) == ["answers.csv", "sales.csv"]


def test_predictions_as_json(meritnas: Command, trained: Path, sales: Path) -> None:
    found = json.loads(meritnas("predict", trained, sales, "--json").out)
    assert found["rows"] == len(found["predictions"]) == 60
    assert set(found["predictions"][0]) == {"predicted_churn", "probability_no", "probability_yes"}
    assert "accuracy" in found["scores"]
    found = json.loads(meritnas("predict", trained, sales, "--json", "--out", "a.csv").out)
    assert found["out"] == "a.csv"
    assert "predictions" not in found


def test_a_run_can_be_moved(meritnas: Command, trained: Path, sales: Path) -> None:
    shutil.copytree(trained, "elsewhere")
    assert meritnas("predict", "elsewhere", sales).out == meritnas("predict", trained, sales).out
    again = meritnas("search", "--resume", "elsewhere", "--json")
    assert json.loads(again.out)["run"] == "elsewhere"


def test_retraining_replaces_network_and_scores(
    meritnas: Command, trained: Path, sales: Path
) -> None:
    shutil.copytree(trained, "run")
    outcome = meritnas(
        *("retrain", "run", "--architecture", "4-8-4", "--epochs", "3", "--seeds", "2", "--json")
    )
    assert outcome.code == 0
    assert "training 100%" in outcome.err
    found = json.loads(outcome.out)
    assert (found["architecture"], found["retrain_seeds"]) == ("4-8-4", 2)
    assert json.loads(Path("run/result.json").read_text())["architecture"] == "4-8-4"
    assert meritnas("predict", "run", sales).out != meritnas("predict", trained, sales).out
    assert "4-8-4" in meritnas("retrain", "run", "--architecture", "4-8-4", "--quiet").out


def test_another_network_of_the_trade_off_curve(meritnas: Command) -> None:
    tiny = "--layers 2 --widths 2,4,8 --epochs 2 --retrain-epochs 2 --retrain-seeds 1 --out run"
    arguments = ("search", "wine", "--pareto", "--max-params", "250", "--quiet", *tiny.split())
    assert meritnas(*arguments).code == 0
    rows = json.loads(Path("run/result.json").read_text())["pareto"]
    small = rows[-1]["architecture"]
    assert small != rows[0]["architecture"]
    own, other = (
        meritnas("predict", "run", "wine", "--quiet", *more) for more in ((), ("--network", small))
    )
    assert len(answers(own)) == len(answers(other)) == 178
    assert own.out != other.out
    wrong = meritnas("predict", "run", "wine", "--network", "2-9")
    assert wrong.code == 2
    assert "no network 2-9" in wrong.err
    assert small in wrong.err


def test_columns_are_kept_as_they_are_written(meritnas: Command, trained: Path) -> None:
    frame = table(30, seed=1).drop(columns="churn")
    frame.insert(0, "id", [f"{row:04d}" for row in range(30)])
    frame.assign(note="NA").to_csv("new.csv", index=False)
    outcome = meritnas("predict", trained, "new.csv", "--keep", "id,note", "--keep", "city")
    found = pd.read_csv(io.StringIO(outcome.out), dtype=str, na_filter=False)
    assert list(found.columns)[:4] == ["id", "note", "city", "predicted_churn"]
    assert found["id"].tolist() == frame["id"].tolist()
    assert set(found["note"]) == {"NA"}
    plain = answers(meritnas("predict", trained, "new.csv"))
    assert found["predicted_churn"].tolist() == plain["predicted_churn"].tolist()
    rows = json.loads(meritnas("predict", trained, "new.csv", "--keep", "id", "--json").out)
    assert rows["predictions"][3]["id"] == "0003"
    bad = meritnas("predict", trained, "new.csv", "--keep", "idd")
    assert (bad.code, bad.out) == (2, "")
    assert "no column 'idd' to keep in new.csv; did you mean 'id'?" in bad.err
    frame.assign(predicted_churn=1).to_csv("again.csv", index=False)
    bad = meritnas("predict", trained, "again.csv", "--keep", "predicted_churn")
    assert (bad.code, "is called predicted_churn already" in bad.err) == (2, True)


def test_rows_that_were_trained_on_are_told(meritnas: Command, trained: Path) -> None:
    new = table(30, seed=1)
    new.to_csv("new.csv", index=False)
    outcome = meritnas("predict", trained, "new.csv", "--json")
    assert json.loads(outcome.out)["trained_on"] == 0
    assert "trained on" not in outcome.err
    old = table()
    pd.concat([new, old]).sample(frac=1, random_state=0).to_csv("both.csv", sep=";", index=False)
    outcome = meritnas("predict", trained, "both.csv", "--json")
    found = json.loads(outcome.out)
    assert found["trained_on"] == round(0.8 * len(old))  # all but the test rows
    assert f"note: {found['trained_on']} of the {30 + len(old)} rows that are scored" in outcome.err
    old.assign(churn=old["churn"].map({"yes": "no", "no": "yes"})).to_csv("o.csv", index=False)
    assert json.loads(meritnas("predict", trained, "o.csv", "--json").out)["trained_on"] == 0
    (trained / "rows.safetensors").unlink()  # as runs of earlier versions
    assert "trained_on" not in json.loads(meritnas("predict", trained, "both.csv", "--json").out)
