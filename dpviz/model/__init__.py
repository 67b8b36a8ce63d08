"""The types that carry every mechanism: question, domain, statistic, answer, release, error model, source.

Parameters of a mechanism are declared once (`parameters.py`). `aggregate.py` is what a question asks for in each bin,
`times.py` the calendar of domains that are stretches of time, `statistic.py` the private counts, `source.py` and
`mechanism.py` the protocols of engines and mechanisms. `answers/` has one file for each shape of answer, `laws/` one
for each family of laws that answers are drawn from, stored exactly; both load on first use (`first_use.py`).
`binary.py` is the binary file of a release (`docs/formats.md`), `spreadsheet.py` the CSV that a spreadsheet shows and
does not run, `terms.py` what was promised when the release was paid for. `opening.py` is the protocol of sub-sessions.

A paid answer is asked further, free: `asking.py` (`release.sum`, `range`, `difference`, `share`, `marginal`, `compare`)
knows what may be asked, `marginals.py` which bins are the cells of a marginal; `linear.py` is a linear question,
`sum_errors.py` the error of its value, `derived.py` the result (`words.py` writes its numbers). The shape says which
points there are, the stored law how far their weighted sum may be off (`StoredLaw.linear`). `combination.py` is
`dv.combine`, `declared_next.py` what an entry says of a second answer. The shape turns labels that a page picks or
types into points (`in_row`, `typed_point`, `row_operand`).
`partition.py` is the parts of a question about each part; its answer has the shape `grouped`, its law
(`laws/grouped.py`) is that of one part, and `Release.groups` makes a release of each.
"""
