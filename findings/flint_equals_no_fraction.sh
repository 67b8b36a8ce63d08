#!/usr/bin/env bash
# One would guess: exact rationals of python-flint equal Python's and gmpy2's rationals of the same value, for all
#   three are exact and their hashes agree.
# What happens: `fmpq(1, 2) == Fraction(1, 2)` and `fmpz(5) == gmpy2.mpz(5)` are False without an error, although
#   the hashes are equal; `fmpz(5) == 5` is True. `fmpq(Fraction(1, 2))` raises TypeError.
# Why it matters: a test that compares an exact result of one library with the oracle of another fails for equal
#   values, or, with `!=`, passes for ever; a dictionary keyed by one misses the other.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check python-flint==0.9.0 gmpy2==2.3.2
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
from fractions import Fraction
import flint
import gmpy2

half, five = flint.fmpq(1, 2), flint.fmpz(5)
print("python-flint", flint.__version__, "gmpy2", gmpy2.version())
print("fmpq == Fraction:", half == Fraction(1, 2), "| equal hashes:", hash(half) == hash(Fraction(1, 2)))
print("fmpz == mpz:", five == gmpy2.mpz(5), "| fmpz == int:", five == 5, "| mpq == Fraction:", gmpy2.mpq(1, 2) == Fraction(1, 2))
assert (half == Fraction(1, 2)) is False and hash(half) == hash(Fraction(1, 2))
assert (five == gmpy2.mpz(5)) is False and five == 5 and gmpy2.mpq(1, 2) == Fraction(1, 2)
PY
echo "as described"
