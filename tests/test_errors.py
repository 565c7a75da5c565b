from __future__ import annotations

import inspect

import pytest

import meritnas
from meritnas import errors

WRONG_VALUES = ("DataError", "SpaceError", "InfeasibleError", "UsageError")


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_wrong_arguments_are_value_errors_too(name: str) -> None:
    kind = getattr(meritnas, name)
    assert issubclass(kind, ValueError)
    assert issubclass(kind, meritnas.MeritNASError)
    with pytest.raises(ValueError, match="the rule"):
        raise kind("the rule")


def test_what_is_nobodys_argument_is_no_value_error() -> None:
    for kind in (errors.StoreError, errors.DivergedError):
        assert issubclass(kind, meritnas.MeritNASError)
        assert not issubclass(kind, ValueError)


def test_every_error_has_the_one_root() -> None:
    for kind in vars(errors).values():
        if inspect.isclass(kind) and issubclass(kind, Exception):
            assert issubclass(kind, errors.MeritNASError)
