"""Exact samplers. They know nothing of the laws that predict them; comparing the two is a test.

`exact` samplers have the mechanism's law exactly and reveal random bits lazily (`table.py` for noise on counts,
`race.py` for lists). `strict` samplers are the papers' finite-computer algorithms literally (`finite.py`: pure
functions of a count and a uniform integer). `simulated.py` draws with floats for pictures of public data; nothing that
simulates can reach a ledger.
"""
