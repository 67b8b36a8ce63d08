"""Powers of a decay as fixed-point integers: low <= decay**times * 2**places <= high."""

from __future__ import annotations

from dpviz.exact import Decay, exp_bounds


def power(decay: Decay, times: int, fraction_bits: int) -> tuple[int, int]:
    """Enclose decay**times, for times >= 0, in two integers at `fraction_bits` binary places."""
    if times == 0:
        return 1 << fraction_bits, 1 << fraction_bits
    if decay.exponent is not None:
        return _exponential(decay, times, fraction_bits)
    return _rational(decay, times, fraction_bits)


def _exponential(decay: Decay, times: int, fraction_bits: int) -> tuple[int, int]:
    assert decay.exponent is not None
    nats = decay.exponent * times
    if nats > fraction_bits:  # exp(-nats) < 2**-places; the exact power may have more digits than fit in memory
        return 0, 1
    low, high = exp_bounds(-nats, fraction_bits + 8)
    return (low.numerator << fraction_bits) // low.denominator, -(
        (-high.numerator << fraction_bits) // high.denominator
    )


def _rational(decay: Decay, times: int, fraction_bits: int) -> tuple[int, int]:
    """Square and multiply with outward rounding; guard bits absorb the rounding of each step."""
    assert decay.ratio is not None
    guard = 2 * times.bit_length() + 8
    work = fraction_bits + guard
    base_low = (decay.ratio.numerator << work) // decay.ratio.denominator
    base_high = -((-decay.ratio.numerator << work) // decay.ratio.denominator)
    low = high = 1 << work
    for digit in bin(times)[2:]:
        low, high = low * low >> work, -(-high * high >> work)
        if digit == "1":
            low, high = low * base_low >> work, -(-high * base_high >> work)
    return low >> guard, -(-high >> guard)


def powers(decay: Decay, step: int, count: int, fraction_bits: int) -> tuple[list[int], int]:
    """Enclose decay**(step * i) for i in 0..count-1: lows, and one width so that low <= true <= low + width.

    With an error of at most e in the last place, one more factor (itself off by w) leaves at most e + w + 1.
    """
    low, high = power(decay, step, fraction_bits)
    lows = [1 << fraction_bits]
    value = lows[0]
    for _ in range(count - 1):
        value = value * low >> fraction_bits
        lows.append(value)
    return lows, (high - low + 2) * count
