"""A search from its settings to its result, with all files that it leaves behind.

It may import `prediction`, `engine`, `prepare` and what comes before these. Start reading at
`begin.py` (from data to a job), then `job.py` (what is done); `summary.py` is what comes out.
"""
