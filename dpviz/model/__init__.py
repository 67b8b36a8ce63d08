"""The types that carry every mechanism: question, domain, statistic, answer, release, error model, source."""
