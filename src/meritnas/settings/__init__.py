"""What a user may decide: frozen dataclasses that need no torch.

It imports `errors` only, so that everybody may import it. Start reading at `request.py`, which is
what a search is asked for; `settings.py` is the same with nothing left open. `spec.py` has the
bases of what spaces and strategies decide, `fields.py` reads fields and their lines of help: flags,
config files and estimators' parameters come from there.
"""
