from __future__ import annotations

import json
import pickle
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import meritnas
from meritnas import NASClassifier, Retraining, TableReading
from meritnas.cli.main import main
from meritnas.data.tables.bundle import outline_table
from meritnas.data.tables.source import load_source
from meritnas.errors import MeritNASError, StoreError, UsageError
from meritnas.prepare.given_teacher import GivenTeacher, given_answers
from meritnas.run import stages
from meritnas.training.race import Race

SHORT = Retraining(epochs=2, seeds=1, finalists=1, dropout=0.0, plain=False)
NEVER_KEPT = (".pkl", ".pickle", ".joblib")


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    frame["sum"] = 5 + 3 * frame["a"] - frame["b"] + rng.normal(size=n) / 10
    frame["kind"] = np.where(frame["c"] > 1, "high", np.where(frame["a"] > 0, "mid", "low"))
    frame["odd"] = np.where(frame["a"] + frame["b"] > 0, "yes", "no")
    return frame


def search(frame: pd.DataFrame, target: str, out: Path, teacher: Any, **more: Any) -> Any:
    return meritnas.search(
        frame,
        target,
        max_params=300,
        epochs=1,
        reading=TableReading(scaling="standard", yardstick=False),
        retraining=Retraining(**{**vars(SHORT), "teacher": teacher, **more}),
        out=out,
    )


def kept(run: Path) -> tuple[dict[str, Any], bytes, bytes]:
    result = json.loads((run / "result.json").read_text())
    timed = ("seconds", "seconds_needed", "spent", "run")
    told = {name: value for name, value in result.items() if name not in timed}
    return told, (run / "model.safetensors").read_bytes(), (run / "retrain.json").read_bytes()


@pytest.mark.parametrize("target", ["sum", "odd"])
def test_trees_change_what_is_learned_and_are_told_about(tmp_path: Path, target: str) -> None:
    frame = table()[["a", "b", "c", target]]
    found = search(frame, target, tmp_path / "taught", "trees")
    alone = search(frame, target, tmp_path / "alone", None)
    assert found.summary["teacher"] == {"by": "trees", "share": 0.6}
    assert "teacher" not in alone.summary
    assert found.architecture == alone.architecture  # the search knows nothing of a teacher
    assert kept(found.run)[1] != kept(alone.run)[1]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and a run on it that trees have taught."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("undisturbed")
    table()[["a", "b", "c", "kind"]].to_csv(folder / "t.csv", index=False)
    search(str(folder / "t.csv"), "kind", folder / "run", "trees")
    return folder


@pytest.mark.parametrize("when", ["measure", "planned_race", "retrain_with"])
def test_a_killed_run_with_trees_goes_on_to_the_same_result(
    tmp_path: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    data = undisturbed / "t.csv"
    with monkeypatch.context() as patch:
        patch.setattr(stages, when, killed)
        with pytest.raises(KeyboardInterrupt):
            search(str(data), "kind", tmp_path / "run", "trees")
    before = tmp_path / "run" / "teacher.safetensors"
    answers = before.read_bytes() if before.exists() else None
    found = meritnas.resume(tmp_path / "run")
    assert kept(found.run) == kept(undisturbed / "run")
    assert answers in (None, before.read_bytes())
    assert (when == "measure") == (answers is None)


def killed(*_given: Any, **_more: Any) -> None:
    raise KeyboardInterrupt


class Asked(LinearRegression):
    """Remembers what it was asked about; nobody can pickle it."""

    def predict(self, X: Any) -> Any:
        self.asked = X.copy()
        return super().predict(X)

    def __reduce__(self) -> Any:
        raise pickle.PicklingError("nobody can pickle this")


def test_a_given_estimator_is_asked_about_training_rows_only_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = table()[["a", "b", "c", "sum"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    teacher = Asked().fit(frame[["b", "a"]], frame["sum"])
    data = str(tmp_path / "t.csv")
    found = search(data, "sum", tmp_path / "run", teacher)
    source = load_source(data, "sum")
    outline = outline_table(source, 0)
    pd.testing.assert_frame_equal(teacher.asked, source.frame[["b", "a"]].iloc[outline.split.train])
    assert not [path for path in found.run.iterdir() if path.suffix in NEVER_KEPT]
    assert "the teacher was given" in " ".join(found.summary["notes"])
    # A killed run goes on without the estimator, by its answers.
    with monkeypatch.context() as patch:
        patch.setattr(stages, "retrain_with", killed)
        with pytest.raises(KeyboardInterrupt):
            search(data, "sum", tmp_path / "killed", teacher)
    shutil.copytree(tmp_path / "killed", tmp_path / "damaged")
    assert kept(meritnas.resume(tmp_path / "killed").run) == kept(found.run)
    (tmp_path / "damaged" / "teacher.safetensors").unlink()
    with pytest.raises(StoreError, match=r"teacher\.safetensors"):
        meritnas.resume(tmp_path / "damaged")
    again = meritnas.retrain(tmp_path / "run", epochs=3)  # by the same answers
    assert again.summary["teacher"]["by"] == "given"


@pytest.mark.parametrize("target", ["sum", "kind", "odd"])
def test_answers_are_on_the_scale_of_the_target(target: str) -> None:
    frame = table()[["a", "b", "c", target]]
    inputs, values = frame.drop(columns=target), frame[target]
    source = load_source(frame, target)
    outline = outline_table(source, 0)
    train, task = outline.split.train, outline.task
    if target == "sum":
        model = LinearRegression().fit(inputs.to_numpy(), values)  # knows no names
        expected = (model.predict(inputs.to_numpy()) - task.mean) / task.scale
    else:
        model = LogisticRegression().fit(inputs, values)
        chances = pd.DataFrame(model.predict_proba(inputs), columns=model.classes_)
        expected = chances[list(task.classes)].to_numpy()
        expected = expected[:, 1] if target == "odd" else expected
    found = given_answers(GivenTeacher(model), source, outline)
    np.testing.assert_allclose(found.numpy(), expected[train], rtol=1e-5, atol=1e-6)


def test_a_class_that_a_teacher_has_not_seen_has_no_chance() -> None:
    frame = table()[["a", "b", "c", "kind"]]
    known = frame[frame["kind"] != "mid"]
    model = LogisticRegression().fit(known[["a", "b", "c"]], known["kind"])
    source = load_source(frame, "kind")
    found = given_answers(GivenTeacher(model), source, outline_table(source, 0))
    assert (found[:, list(outline_table(source, 0).task.classes).index("mid")] == 0).all()
    assert found.sum(dim=1).numpy() == pytest.approx(1.0)


def wrong_teachers() -> dict[str, tuple[Any, str]]:
    frame = table()
    inputs, kinds = frame[["a", "b", "c"]], frame["kind"]
    strange = kinds.replace("low", "lower")
    return {
        "not fitted": (LogisticRegression(), "is not fitted; fit it first"),
        "no chances": (LinearRegression().fit(inputs, frame["sum"]), "has no predict_proba"),
        "other classes": (LogisticRegression().fit(inputs, strange), "knows the class 'lower'"),
        "other columns": (LogisticRegression().fit(frame[["a", "sum"]], kinds), "no column sum"),
        "fewer columns": (LogisticRegression().fit(inputs[["a"]].to_numpy(), kinds), "cannot"),
    }


@pytest.mark.parametrize(
    "what", ["not fitted", "no chances", "other classes", "other columns", "fewer columns"]
)
def test_an_estimator_that_cannot_teach_is_refused(tmp_path: Path, what: str) -> None:
    model, message = wrong_teachers()[what]
    with pytest.raises(UsageError, match=message):
        search(table()[["a", "b", "c", "kind"]], "kind", tmp_path / "run", model)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"teacher": "forest"}, "teacher must be trees or finalists"),
        ({"teacher": 3}, "has a method predict"),
        ({"teacher_share": 0.5}, "needs a teacher"),
        ({"teacher": "trees", "teacher_share": 0.0}, "above 0 and at most 1"),
    ],
)
def test_what_is_no_teacher_is_refused_where_it_is_written(
    asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Retraining(**asked)


def test_a_table_that_is_streamed_has_no_teacher(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table()[["a", "b", "c", "odd"]].to_parquet(tmp_path / "t.parquet")
    line = ["search", str(tmp_path / "t.parquet"), "--target", "odd", "--stream"]
    for teacher in ("trees", "finalists"):
        with pytest.raises(SystemExit) as ended:
            main([*line, "--teacher", teacher, "--out", str(tmp_path / "run")])
        assert ended.value.code == 2
        assert "read a piece at a time" in capsys.readouterr().err


def test_images_have_no_teacher() -> None:
    images = np.zeros((20, 8, 8), dtype=np.uint8), np.arange(20) % 2
    with pytest.raises(MeritNASError, match="teacher is for tables, and these are images"):
        meritnas.search(images, retraining=Retraining(teacher="trees"))


def test_finalists_teach_and_the_better_one_is_kept(tmp_path: Path) -> None:
    frame = table()[["a", "b", "c", "odd"]]
    found = search(frame, "odd", tmp_path / "run", "finalists", seeds=2, epochs=3)
    teacher = found.summary["teacher"]
    trainings = json.loads((found.run / "retrain.json").read_text())["results"]
    best = min(trainings, key=lambda one: float(one["valid_loss"]))
    assert teacher["won"] == bool(best.get("taught"))
    assert best["valid_loss"] == min(teacher["valid_loss"], teacher["without"])
    assert any("taught by the finalists" in note for note in found.summary["notes"])
    assert found.test == pytest.approx(
        {
            metric: float(np.mean([one["test"][metric] for one in trainings if like(one, best)]))
            for metric in found.test
        }
    )
    assert "taught" in (found.run / "report.html").read_text()


def like(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.get("taught") == other.get("taught")


def test_an_estimator_learns_from_one_that_knows_labels_by_their_names() -> None:
    frame = table()
    inputs, labels = frame[["a", "b", "c"]], frame["kind"]
    trees = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(inputs, labels)
    found = clone(  # as a grid search does it: the teacher stays fitted
        NASClassifier(
            max_params=300,
            epochs=1,
            random_state=0,
            retraining=Retraining(**{**vars(SHORT), "teacher": trees, "epochs": 20}),
        )
    ).fit(inputs, labels)
    assert found.score(inputs, labels) > 0.6
    wrong = LogisticRegression().fit(inputs, labels.str.upper())
    with pytest.raises(UsageError, match=r"knows the class 'HIGH'.*classes: high, low, mid"):
        found.set_params(retraining__teacher=wrong).fit(inputs, labels)


def test_what_time_was_spent_on_is_in_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table()[["a", "b", "c", "odd"]].to_csv(tmp_path / "t.csv", index=False)
    begun = time.perf_counter()
    line = f"search {tmp_path}/t.csv --target odd --max-params 300 --minutes 0.05 --teacher trees"
    with pytest.raises(SystemExit):
        main([*line.split(), "--out", str(tmp_path / "run"), "--quiet", "--json"])
    whole = time.perf_counter() - begun
    spent = json.loads(capsys.readouterr().out)["spent"]
    done = ("reading", "encoding", "planning", "search", "judging", "yardstick", "teacher", "race")
    assert {*done, "report"} <= spent.keys()
    assert min(spent.values()) > 0
    assert 0.8 * whole <= sum(spent.values()) <= whole
    assert json.loads((tmp_path / "run" / "result.json").read_text())["spent"] == spent
    with pytest.raises(SystemExit):
        main(["show", str(tmp_path / "run")])
    assert "spent on" in capsys.readouterr().out


def test_a_race_of_a_given_architecture_has_taught_ones_too(tmp_path: Path) -> None:
    found = meritnas.train(
        table()[["a", "b", "c", "odd"]],
        "odd",
        architecture="8-8-8",
        epochs=2,
        seeds=2,
        reading=TableReading(scaling="standard", yardstick=False),
        retraining=Retraining(teacher="finalists", dropout=0.0),
        out=tmp_path / "run",
    )
    assert Race.from_json(found.summary["race"]).taught == 2
