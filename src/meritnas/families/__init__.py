"""The kinds of networks that can be searched, a package for each.

A family is what users call a space: its decisions, costs, supernet, networks, texts, drawings and
source together (`family.py`, where to start). Its package has `spec.py`, which options it has,
without torch; `child.py`, the network as plain torch, which is also what is exported as Python
(`source.py`); `supernet.py`, the shared weights; `family.py`, which puts them together. A new
package with a `spec.py` is a new space: `catalogue.py` finds it.

May import `settings`, `data`, `space`, `cost` and `supernet`; no strategy is known here.
"""
