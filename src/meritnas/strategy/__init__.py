"""Strategies: how to search. One file for each paper, with its spec.

A spec is a frozen dataclass of options, without torch, whose `make(problem)` composes the strategy
from what is in `algorithms`. A file of this package with such a class in it is all that
`catalogue` needs to find one more strategy.

It may import all up to `credit`, and of `supernet` only `gates` and `probe`; what needs torch is
imported inside `make`. Start with `strategy` (what every strategy can do), `problem` (what it is
made for) and `tabnas` or `darts`.
"""

from __future__ import annotations
