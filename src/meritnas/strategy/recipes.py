from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from meritnas.errors import UsageError
from meritnas.plugins import is_own, load_own
from meritnas.strategy.black_box_recipes import bayesian, evolution, random
from meritnas.strategy.gradient_recipes import (
    darts,
    darts_2nd,
    gdas,
    nasp,
    pc_darts,
    proxyless,
    snas,
)
from meritnas.strategy.manas_recipes import (
    manas,
    manas_coordinated_zipf,
    manas_linear_softmax,
    manas_ls,
)
from meritnas.strategy.policy_recipes import (
    abs_reward,
    advantage,
    mnasnet,
    mnasnet_max,
    parsec,
    reinforce,
    tabnas,
)
from meritnas.strategy.problem import Problem
from meritnas.strategy.shapley_recipes import darts_shapley, darts_shapley_frozen, shapley
from meritnas.strategy.sm_shapley_recipe import sm_shapley
from meritnas.strategy.strategy import Strategy
from meritnas.wording import did_you_mean

__all__ = ["RECIPES", "Problem", "check_strategy", "make_strategy"]

RECIPES: Mapping[str, Callable[..., Strategy]] = {
    "tabnas": tabnas,
    "advantage": advantage,
    "reinforce": reinforce,
    "parsec": parsec,
    "gdas": gdas,
    "proxyless": proxyless,
    "darts": darts,
    "darts-2nd": darts_2nd,
    "pc-darts": pc_darts,
    "snas": snas,
    "nasp": nasp,
    "shapley": shapley,
    "darts-shapley": darts_shapley,
    "darts-shapley-frozen": darts_shapley_frozen,
    "sm-shapley": sm_shapley,
    "manas": manas,
    "manas-ls": manas_ls,
    "manas-linear-softmax": manas_linear_softmax,
    "manas-coordinated-zipf": manas_coordinated_zipf,
    "abs-reward": abs_reward,
    "mnasnet": mnasnet,
    "mnasnet-max": mnasnet_max,
    "random": random,
    "evolution": evolution,
    "bayesian": bayesian,
}
"""The strategies a search can be asked for by name."""


def check_strategy(name: str, options: Mapping[str, Any]) -> None:
    """Complain about a strategy that does not exist or an option that it does not take."""
    known = list(inspect.signature(_recipe(name)).parameters)[1:]
    for option in options:
        if option not in known:
            takers = [n for n, r in RECIPES.items() if option in inspect.signature(r).parameters]
            raise UsageError(
                f"strategy '{name}' has no option '{option}' "
                f"(it has {', '.join(known) or 'none'}); "
                f"strategies that have it: {', '.join(takers) or 'none'}"
            )


def make_strategy(name: str, problem: Problem, options: Mapping[str, Any]) -> Strategy:
    """The strategy of this name, with options by keyword."""
    check_strategy(name, options)
    return _recipe(name)(problem, **options)


def _recipe(name: str) -> Callable[..., Strategy]:
    if is_own(name):
        return load_own(name, "strategy")
    if name not in RECIPES:
        raise UsageError(
            f"no strategy '{name}';{did_you_mean(name, RECIPES)} there are {', '.join(RECIPES)}, "
            "and module:function for one of your own"
        )
    return RECIPES[name]
