"""What strategies do: how each of them samples, learns, chooses and is saved.

Torch lives here. These modules may import all up to `credit`, of `supernet` only `gates` and
`probe`, and of `strategy` only `problem`, `strategy` and `turns`; they know nothing of specs. Start
with `policy_gradient`, `dense` and `black_box`; what several share is in `policy_strategy`,
`agent_strategy` and `valued_mixture`.
"""

from __future__ import annotations
