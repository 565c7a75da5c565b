"""What all estimators share: parameters, nested parameters of specs, the search itself."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from meritnas.data.bundle import Outline
from meritnas.data.kind import DataKind, Source
from meritnas.data.kinds import kind_named
from meritnas.errors import DataError, UsageError, told
from meritnas.estimators.progress import Lines
from meritnas.families.catalogue import space_spec
from meritnas.families.own import asked_space
from meritnas.prediction.answered import check_answered
from meritnas.prediction.predictor import Predictor, load_predictor
from meritnas.prepare.config import make_config
from meritnas.prepare.given_teacher import GivenTeacher
from meritnas.prepare.settle import settle
from meritnas.progress.heard import nobody
from meritnas.result import result_of
from meritnas.run.begin import checked_reading
from meritnas.run.job import Job
from meritnas.run.local_ranks import cores
from meritnas.run.stages import start
from meritnas.settings.checks import checked
from meritnas.settings.fields import settings_of
from meritnas.settings.limits import Limits
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.spec import SpaceSpec, StrategySpec
from meritnas.settings.training import Retraining, Training
from meritnas.store.run_store import RunStore
from meritnas.strategy.catalogue import strategy_spec
from meritnas.tasks.hire import hired
from meritnas.training.train import outputs_of
from meritnas.wording import did_you_mean


@dataclass(kw_only=True, eq=False, repr=False)
class SearchEstimator(BaseEstimator):
    """A scikit-learn estimator that searches its network; see `meritnas.search` for parameters.

    Options of specs are nested parameters: `strategy__samples`, `space__layers`,
    `retraining__seeds`. Networks are trained once from scratch unless `retraining` says otherwise.

    Attributes of every one of its classes:
        _data: the kind of data that it is for.
        _decided: what of `reading` is its own business.
    """

    _data: ClassVar[str]
    _decided: ClassVar[tuple[str, ...]]

    max_params: int | None = None
    max_flops: int | None = None
    max_size_kb: float | None = None
    max_latency_ms: float | None = None
    max_peak_kb: float | None = None
    size_of: Literal["float32", "int8"] = "float32"
    space: str | SpaceSpec | Callable[..., Any]
    strategy: str | StrategySpec
    epochs: int | None = None
    minutes: float | None = None
    reading: Any = None
    training: Training | None = None
    retraining: Retraining | None = None
    validation_fraction: float = 0.2
    test_fraction: float = 0.1
    random_state: int | np.random.RandomState | None = None
    device: str = "cpu"
    n_jobs: int | None = None
    verbose: int = 0

    @property
    def _labels(self) -> Sequence[Any] | None:
        """What others than the search call the classes, which it knows by number; None as it."""
        return None

    def _limits(self) -> Limits:
        return Limits(
            self.max_params,
            self.max_flops,
            self.max_size_kb,
            self.max_latency_ms,
            max_peak_kb=self.max_peak_kb,
            size_of=self.size_of,
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` for those of specs and settings, too."""
        found: dict[str, Any] = super().get_params(deep=deep)
        for name in list(found) if deep else ():
            part = self._spelled_out(name)
            own = fields(part) if is_dataclass(part) else ()
            found |= {f"{name}__{each.name}": getattr(part, each.name) for each in own}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `strategy__samples=4` changes one option of the strategy."""
        nested: dict[str, dict[str, Any]] = {}
        for name in [name for name in params if "__" in name]:
            outer, _, inner = name.partition("__")
            nested.setdefault(outer, {})[inner] = params.pop(name)
        super().set_params(**params)
        known = self.get_params(deep=True)
        for outer, options in nested.items():
            self._check_nested(outer, options, known)
            setattr(self, outer, replace(self._spelled_out(outer), **options))
        return self

    def _check_nested(self, outer: str, options: Iterable[str], known: Iterable[str]) -> None:
        """Complain about an option that a part does not have."""
        own = [name for name in known if name.startswith(f"{outer}__")]
        for name in (f"{outer}__{inner}" for inner in options):
            if name not in own:
                there = own or [name for name in known if "__" not in name]
                raise ValueError(
                    f"no parameter '{name}' of {type(self).__name__};{did_you_mean(name, own)} "
                    f"there are {', '.join(there)}"
                )

    def _spelled_out(self, name: str) -> Any:
        """A parameter with what a name or None stands for; as it is where it stands for nothing."""
        value = getattr(self, name)
        usual = {"training": Training, "retraining": Retraining, "reading": self._kind.reading}
        named: dict[str, Any] = {"strategy": strategy_spec, "space": space_spec}
        if value is None:
            return usual[name]() if name in usual else None
        if name in named and isinstance(value, str):
            with suppress(UsageError):  # `fit` complains about it
                return named[name](value)
        return value

    @property
    def _kind(self) -> DataKind:
        """The kind of data that this is for."""
        return kind_named(self._data)

    def _check_parameters(self) -> None:
        """Complain about a parameter that is not of its type; nothing is changed."""
        for setting in settings_of(type(self)):
            value = getattr(self, setting.name)
            if setting.name != "verbose" or not isinstance(value, bool):  # True is as good as 1
                checked(setting, value)

    def _reading(self) -> Any:
        """How the data is read; complains about what is decided elsewhere."""
        reading = checked_reading(self.reading, self._kind)
        usual = self._kind.reading()
        for name in self._decided:
            if getattr(reading, name) != getattr(usual, name):
                raise UsageError(
                    f"{type(self).__name__} has a say in {name} itself; leave it out of reading"
                )
        return reading

    def _quiet_reading(self) -> Any:
        """The same without a yardstick, which is not asked for where others are at hand."""
        reading = self._reading()
        return replace(reading, yardstick=False) if self._kind.compared else reading

    def _request(self, seed: int, **more: Any) -> Request:
        """What the parameters ask for."""
        again = Retraining() if self.retraining is None else self.retraining
        return Request(
            space=asked_space(self.space),
            strategy=self.strategy,
            epochs=self.epochs,
            minutes=self.minutes,
            seed=seed,
            reading=self._quiet_reading(),
            training=Training() if self.training is None else self.training,
            retraining=replace(again, seeds=again.seeds or 1),
            run=RunOptions(self.device, jobs=self._jobs()),
            **more,
        )

    def _search(self, source: Source, outline: Outline, request: Request) -> Predictor:
        """Search and train; what all estimators know about it afterwards is set."""
        kind = self._kind
        settings = settle(request, kind, kind.facts(source, outline, request.reading))
        teacher = GivenTeacher(request.retraining.teacher, self._labels)
        job = Job.make(settings, kind, source, outline, teacher=teacher)
        running, planning = job.planned_search()
        with (
            hired(request.run) as crew,
            tempfile.TemporaryDirectory(prefix="meritnas-") as folder,
        ):
            job = replace(job, crew=crew)
            with RunStore.create(Path(folder), make_config(settings, kind, source)) as store:
                start(job, store, Lines() if self.verbose else nobody, running, planning)
            result = result_of(job, store)
            predictor = load_predictor(store.folder, trust=job.trust)
            trainings = store.read_json("retrain.json")["results"]
            self.history_ = [*store.events(), *({"kind": "training", **t} for t in trainings)]
        self.architecture_ = result.architecture.text
        self.n_params_ = int(result.summary["params"])
        self.costs_ = dict(result.summary["costs"])
        self.test_ = result.test
        self._summary: Mapping[str, Any] = result.summary
        self._task = predictor.task
        self.encoder_: Any = predictor.encoder
        return predictor

    def _jobs(self) -> int | None:
        """Trainings at a time; as in scikit-learn, -1 stands for as many as there are cores."""
        return cores() if self.n_jobs == -1 else self.n_jobs

    def _seed(self) -> int:
        try:
            state = check_random_state(self.random_state)
        except ValueError as error:
            raise UsageError(
                f"random_state must be a whole number from 0 to below 2**32, a RandomState or "
                f"None, got {told(self.random_state)}"
            ) from error
        return int(state.randint(np.iinfo(np.int32).max))

    def _check_fractions(self) -> None:
        for name in ("validation_fraction", "test_fraction"):
            share = getattr(self, name)
            if not 0 <= share < 1:
                raise DataError(f"{name} must be from 0 to below 1, got {share}")

    def _outputs_of(self, inputs: torch.Tensor) -> torch.Tensor:
        """What `module_` says; in double precision an answer does not depend on those beside it.

        Raises:
            DataError: It is no finite number for a row.
        """
        module = copy.deepcopy(self.module_).double()
        outputs = outputs_of(module, inputs.double())
        check_answered(outputs)
        return outputs
