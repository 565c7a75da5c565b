"""Networks that hold the weights of all options at once, and the gates that choose.

It may import `data` and `space`, but no policy and no strategy: only gates pass between these and
a supernet. Start reading at `gates.py` and `supernet.py`; `probe.py` is what strategies see.
"""
