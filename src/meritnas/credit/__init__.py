"""Credit: who earned a loss, by gradients, rewards or Shapley values.

It may import all up to `policy`, and of `supernet` only `gates` and `probe`. Start with `credit`
(how draws move a policy) and `shapley` (values of any game).
"""

from __future__ import annotations
