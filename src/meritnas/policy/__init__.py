"""Beliefs about a space: policies and agents, and how architectures are drawn from them.

It may import `space` and `cost`, and nothing of supernets. Start with `policy` and `laws`.
"""

from __future__ import annotations
