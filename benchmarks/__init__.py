"""How fast, how flat, how big: `python -m benchmarks` runs all of it and writes RESULTS.md.

Each file here with a function `table()` is a benchmark: it returns lines of what was measured and what is allowed.
A new benchmark is a new file.
"""
