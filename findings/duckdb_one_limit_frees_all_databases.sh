#!/usr/bin/env bash
# One would guess: the memory of a finished query is free for the system, or stays until its own connection is closed;
#   and a setting of one in-memory database does nothing to another.
# What happens: the process keeps over 100 MB after a query with 3,000,000 groups, though duckdb_memory() counts
#   nothing. Setting memory_limit of a second, empty database gives nearly all of it back; the first keeps its limit.
# Why it matters: what a process is seen to take is the past of all its databases, so whoever measures a query, or
#   sizes a container, measures the queries before it.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import mmap

import duckdb


def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE >> 20


first, second = (duckdb.connect(config={"threads": 2, "memory_limit": "3GB"}) for _ in range(2))
before = held()
groups = first.sql("select count(*) from (select range::text as key, count(*) from range(3000000) group by key)").fetchall()
counted = first.sql("select coalesce(sum(memory_usage_bytes), 0) >> 20 from duckdb_memory()").fetchall()[0][0]
after = held()
second.execute("set memory_limit = '2GB'")
freed = held()
limit = first.sql("select current_setting('memory_limit')").fetchall()[0][0]
print("duckdb", duckdb.__version__, f"MB of the process: {before} before, {after} after, {freed} once the other was set;")
print(f"duckdb_memory() counts {counted} MB; the first database still has a limit of {limit}")
assert groups == [(3000000,)] and counted < 10 and limit == "2.7 GiB"
assert after - before > 100 and after - freed > 0.7 * (after - before)
PY
echo "as described"
