"""Who computes what does not depend on each other, such as the trainings of several finalists.

It may import nothing but errors and settings. Start reading at `crew.py`; what works is in
`processes.py` (this machine), `ray_workers.py` (Ray) and `any_executor.py` (whatever has `submit`).
"""
