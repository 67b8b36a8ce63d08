"""Samplers made of other samplers: the transformations by which results about drawing one record are proved.

They are for lessons and for simulation on public data. None of them keeps a ledger: what a transformed sampler costs is
said in its docstring, and a person who wants a paid record asks a session for one.

    poisson      a sampler of n records made one of a Poisson number; a random part of the records (Algorithm 1, 3.3)
    symmetry     a sampler made blind to names and order (Algorithm 2)
    reduction    a sampler of one of 2k + 1 labels, made of one of 2k bits (Algorithms 5 to 8)
    marginals    an estimator of shares, made of a sampler of bits (Algorithms 9 and 10)

Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021; what is wrong in print is repaired, and said so.
"""

from __future__ import annotations
