from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from strategy_contract import CHECKS, Options, new_search, settings_of

from meritnas.errors import UsageError
from meritnas.strategy.catalogue import strategy_specs

VARIANTS: tuple[tuple[str, Options], ...] = (
    *((name, {}) for name in strategy_specs() if name != "pc-darts"),
    ("tabnas", {"sampling": "rejection", "final": "largest"}),
    ("tabnas", {"sampling": "monte-carlo", "mc_samples": 50, "final": "mode"}),
    ("tabnas", {"sampling": "uncorrected", "final": "mode"}),
    ("tabnas", {"weight_draws": "feasible", "samples": 3, "baseline": "paired"}),
    ("reinforce", {"samples": 1, "policy_rate": 0.05, "weight_draws": "policy"}),
    ("reinforce", {"sampling": "unrestricted", "final": "process-best"}),
    ("advantage", {"samples": 2, "final": "process-best"}),
    ("advantage", {"credit": "exact"}),
    ("advantage", {"credit": "gradient"}),
    ("parsec", {"form": "code", "samples": 3}),
    ("gdas", {"final": "process-best", "policy_rate": 0.5}),
    ("evolution", {"population": 6, "tournament": 2}),
    ("shapley", {"estimator": "regression", "permutations": 2}),
    ("shapley", {"variant": "released", "permutations": 2, "judged_rows": 16}),
    ("shapley", {"game": "path", "judged_paths": 40}),
    ("manas", {"judged_by": "error", "baseline": "average", "final": "draw"}),
    ("manas", {"policy_rate": 0.2, "exploration": 0.3, "pooling": "none"}),
    ("manas-ls", {"samples": 10, "memory": 0.5}),
    ("manas-ls", {"interactions": "pairs"}),
)


def test_pc_darts_needs_cells() -> None:
    with pytest.raises(UsageError, match="this space has no cells; use 'darts'"):
        new_search(settings_of("pc-darts", {}))


def name_of(variant: tuple[str, Options]) -> str:
    return " ".join([variant[0], *map(str, variant[1].values())])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("variant", VARIANTS, ids=name_of)
def test_strategy_keeps_the_contract(
    variant: tuple[str, Options], check: Callable[[str, Options, Path], None], tmp_path: Path
) -> None:
    check(*variant, tmp_path / "run")
