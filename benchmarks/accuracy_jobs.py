"""Noise, thresholds and sums of other libraries at a price. Runs in their environments and imports nothing of dpviz.

Each line of JSON that it reads is a list of jobs and their arguments, and is answered by one with their results.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

KEEPS = 401
"""A partition of one size is asked this often, to see whether it is kept more often than not."""


def most(holds: Callable[[int], bool]) -> int:
    """The largest whole number that holds, where all below one that holds do."""
    high = 1
    while holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


# ---------------------------------------------------------------- OpenDP


@cache
def opendp_sigma(epsilon: float, delta: float) -> float:
    """Of discrete Gaussian noise on one count that moves by 1."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=dp.i64), dp.absolute_distance(T=dp.i64)

    def made(scale: float) -> Any:
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)), delta)

    found: float = dp.binary_search_param(made, d_in=1, d_out=(epsilon, delta), bounds=(0.01, 10_000.0))
    return found


def opendp_threshold(epsilon: float, delta: float, keys: int) -> int:
    """The least count that is shown with Laplace noise at this price, of a user in this number of keys.

    The library states the delta of values above its threshold, and shows values at it, too: one more is what it states.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T=dp.String), dp.atom_domain(T=dp.i64))
    metric = dp.l01inf_distance(dp.absolute_distance(T=dp.i64))

    def fails(threshold: int) -> bool:
        noisy = dp.m.make_laplace_threshold(domain, metric, scale=keys / epsilon, threshold=threshold)
        return bool(noisy.map((keys, keys, 1))[1] > delta)

    return most(fails) + 2


def opendp_gaussian_threshold(epsilon: float, delta: float, keys: int) -> int:
    """The same with Gaussian noise: the better of several ways to share delta out."""
    import opendp.prelude as dp
    from opendp.mod import OpenDPException

    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T=dp.String), dp.atom_domain(T=dp.i64))
    metric = dp.l02inf_distance(dp.absolute_distance(T=dp.f64))

    def least(share: float) -> int:
        scale = keys**0.5 * opendp_sigma(epsilon, delta * share)

        def fails(threshold: int) -> bool:
            noisy = dp.m.make_gaussian_threshold(domain, metric, scale=scale, threshold=threshold)
            try:
                priced = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noisy), delta).map((keys, keys**0.5, 1.0))
            except OpenDPException:  # the threshold alone takes more than delta
                return True
            return bool(priced[0] > epsilon)

        return most(fails) + 2

    return min(least(share) for share in (0.5, 0.9))


def opendp_zcdp_epsilon(rho: float, delta: float) -> float:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=dp.i64), dp.absolute_distance(T=dp.i64)
    noisy = dp.m.make_gaussian(*space, scale=(1 / (2 * rho)) ** 0.5)
    found: float = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noisy), delta).map(1)[0]
    return found


def opendp_answers(total: float, delta: float, epsilon: float) -> int:
    """How many pure answers of this epsilon a budget holds, the better of their sum and of zCDP."""
    by_sum = most(lambda number: number * epsilon <= total * (1 + 1e-12))
    return max(by_sum, most(lambda number: opendp_zcdp_epsilon(number * epsilon**2 / 2, delta) <= total))


# ---------------------------------------------------------------- diffprivlib


def diffprivlib_sigma(epsilon: float, delta: float) -> float:
    from diffprivlib.mechanisms import GaussianDiscrete

    found: float = GaussianDiscrete(epsilon=epsilon, delta=delta, sensitivity=1)._scale
    return found


# ---------------------------------------------------------------- Tumult


def tumult_exact(number: float) -> Any:
    import sympy
    from tmlt.core.utils.exact_number import ExactNumber

    return ExactNumber(sympy.Rational(str(number)))


def tumult_holds(measurement: Any, epsilon: float, delta: float) -> bool:
    """Whether a measurement of this rho holds a price, as Tumult converts it."""
    from tmlt.core.measurements.converters import RhoZCDPToApproxDP

    price = tumult_exact(epsilon), tumult_exact(delta)
    return bool(RhoZCDPToApproxDP(measurement).privacy_relation(1, price))


def tumult_sigma(epsilon: float, delta: float) -> float:
    """Of discrete Gaussian noise on one count that moves by 1, to a ten-thousandth."""
    from tmlt.core.measurements.noise_mechanisms import AddDiscreteGaussianNoise

    def fails(steps: int) -> bool:
        return not tumult_holds(AddDiscreteGaussianNoise(tumult_exact((steps / 10_000) ** 2)), epsilon, delta)

    return (most(fails) + 1) / 10_000


def tumult_threshold(epsilon: float, delta: float, keys: int) -> int:
    """The least count that is shown with geometric noise at this price, of a user in this number of keys."""
    from tmlt.core.domains.spark_domains import SparkDataFrameDomain, SparkStringColumnDescriptor
    from tmlt.core.measurements.aggregations import create_partition_selection_measurement

    domain = SparkDataFrameDomain({"x": SparkStringColumnDescriptor()})
    found = create_partition_selection_measurement(domain, tumult_exact(epsilon), tumult_exact(delta), keys)
    return int(found.threshold)


def tumult_answers(total: float, delta: float, epsilon: float) -> int:
    """How many pure answers of this epsilon a budget holds, the better of their sum and of zCDP."""
    from tmlt.core.measurements.converters import PureDPToRhoZCDP
    from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise

    def fits(number: int) -> bool:
        together = tumult_exact(epsilon * number**0.5)  # one answer that books the rho of so many
        return tumult_holds(PureDPToRhoZCDP(AddGeometricNoise(1 / together)), total, delta)

    by_sum = most(lambda number: number * epsilon <= total * (1 + 1e-12))
    return max(by_sum, most(fits) if fits(1) else 0)


# ---------------------------------------------------------------- Google


def google_sigma(epsilon: float, delta: float) -> float:
    """Of the continuous Gaussian, which is not private at this price on whole numbers."""
    from dp_accounting.pld import accountant, common

    parameters = common.DifferentialPrivacyParameters(epsilon, delta)
    found: float = accountant.get_smallest_gaussian_noise(parameters, num_queries=1, sensitivity=1.0)
    return found


def google_kept(epsilon: float, delta: float, keys: int, strategy: str) -> int:
    """The size from which a partition is kept more often than not; no count is shown."""
    from pydp.algorithms.partition_selection import create_partition_strategy

    made = create_partition_strategy(strategy, epsilon, delta, keys)
    return most(lambda size: 2 * sum(made.should_keep(size) for _ in range(KEEPS)) < KEEPS) + 1


def google_composed(epsilons: list[float], counts: int, delta: float) -> float:
    """The epsilon of a list of pure answers, each over this number of counts that a user moves by 1."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    found = None
    for epsilon in sorted(set(epsilons)):
        one = pld.from_discrete_laplace_mechanism(epsilon / counts, 1).self_compose(counts * epsilons.count(epsilon))
        found = one if found is None else found.compose(one)
    assert found is not None
    return float(found.get_epsilon_for_delta(delta))


def google_answers(total: float, delta: float, epsilon: float, counts: int) -> int:
    from dp_accounting.pld import privacy_loss_distribution as pld

    one = pld.from_discrete_laplace_mechanism(epsilon / counts, 1)
    return most(lambda number: one.self_compose(counts * number).get_epsilon_for_delta(delta) <= total)


JOBS: dict[str, Callable[..., Any]] = {
    job.__name__: job
    for job in (
        opendp_sigma,
        opendp_threshold,
        opendp_gaussian_threshold,
        opendp_answers,
        diffprivlib_sigma,
        tumult_sigma,
        tumult_threshold,
        tumult_answers,
        google_sigma,
        google_kept,
        google_composed,
        google_answers,
    )
}


def main() -> None:
    """Answer each line, a list of pairs of a job and its arguments, with a line."""
    for line in sys.stdin:
        print(json.dumps([JOBS[job](**arguments) for job, arguments in json.loads(line)]), flush=True)


if __name__ == "__main__":
    main()
