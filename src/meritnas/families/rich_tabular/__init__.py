"""Networks for tables with more to decide than widths: how columns enter, depth, members.

`spec.py` says what there is to decide, `entries.py` about which columns, `network.py` is the build
function, `child.py` what a network alone is made of. Costs are counted in `costs.py`, `peak.py`
and `timing.py`, because first layers that read all columns depend on more decisions than a build
function's costs can be found out for.
"""
