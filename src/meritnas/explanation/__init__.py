"""Why a network looks as it does: what its parts, or its modalities, are worth.

It may import `credit`, `engine`, `training`, `prediction` and what comes before these. Start
reading at `network_credit.py`.
"""
