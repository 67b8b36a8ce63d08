"""Post-processing of noisy numbers, which is free: consistent fits, their exact errors, laws of sums of noises.

Isotonic and tree fits have exact variances. The law of a weighted sum of noises is exact on a lattice and comes with
its error elsewhere (`sums.py`, `lattice.py`); `atoms.py` lists the values of narrow ones, and `transforms.py` is all
that sums know of one noise. `bands.py` has simultaneous bands; `shares.py` inverts Fieller's test for ratios, also of
sums that depend on each other. Nothing here knows a mechanism or an answer.
"""
