"""Exact distributions: what a sampler should do, written without looking at how it does it.

`tables.py` has the quantiles of noise on counts. `threshold.py`, `max_projection.py`, `alp_errors.py`,
`sampling_curves.py` and `simplex.py` are for plans and pictures; `planning/walks.py` simulates what is too long to
enumerate. `list_variants.py` is about lists that relatives of TopK show, `overtaking.py` about how far down noisy
counts reach.
"""
