"""Where data, price, chance and record meet: a session, its accountant (arithmetic) and its ledger (memory).

A release happens in one order. `Session.release` binds the mechanism, which checks public facts only, and hands the
rest to a thread of its own, or does it in place where there are none (`running.py`): Ctrl-C never hits the critical
section, and private values live on no stack that a traceback could print. `saved.py` has read back what would be
stored, the law included, before anything is paid. Then `runner.py` calls `Source.probe` (`probing.py`), `Ledger.charge`
(look up the key, ask the accountant, write, in one transaction), `Source.count`, `Bound.draw` and `Ledger.finish`. The
answer is what the ledger stored, read back. Meanwhile Ctrl-C is only noted (`interrupts.py`), and is raised as
ReleaseInterrupted once the ledger knows.

The same question, mechanism, parameters, mode and `key` give the stored answer, free. A crash leaves a pending charge,
which counts as spent. A sub-session (`sub_session.py`) is one charge that stays open: each question goes the same way,
with `Ledger.reserve` in place of the charge and `Ledger.settle` in place of the outcome, which gives back the part that
was not used. Its answers carry the price of the whole and say what they used of it.

`custody.py` is what pages see of a `Session` or a `Teaching`. `arithmetic.py` adds up a ledger for `verify`,
`holding.py` holds each entry against what it paid for, `undercharged.py` names entries that an earlier revision charged
too little (`repriced` of a mechanism). `loading.py` is `dv.load`, `seeded_draws.py` several teaching draws and how
often they miss; `stale.py` and `refusals.py` are words.
"""

from dpviz.names import name_class_of

name_class_of(__name__)  # dv.session(...) is refused with the name of the class
