#!/usr/bin/env bash
# DuckDB believes a Parquet file's statistics, which leave NaN out.
#
# One would guess: a query over a Parquet file gives what the same query gives over the same rows in a table, whatever
# tool wrote the file. What happens: pyarrow writes the least and greatest value of a column without its NaN, as the
# format asks for. DuckDB takes that for the range of all rows: isnan(c) is folded to false, and c >= x leaves out whole
# row groups. Add one row with a greater value, and a thousand other rows are answered otherwise. read_parquet(...,
# can_have_nan = true) helps against NaN, and not against statistics that are wrong; with the optimizers that read them
# switched off, the rows decide. Why it matters: noise is made for a count that one row moves by one. Here one row moves
# it by a thousand.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.0 pyarrow==26.0.1

cd "$folder"
cat >finding.py <<'PYTHON'
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

print("duckdb", duckdb.__version__, "pyarrow", pa.__version__)
numbers = [float(number % 5) for number in range(40)] + [float("nan")] * 1000
QUERY = "SELECT count(*) FROM {} WHERE NOT isnan(c) AND NOT c >= 6"
found = {}
for name, rows in (("as it is", numbers), ("and one row with 6", [*numbers, 6.0])):
    table = pa.table({"c": rows})
    pq.write_table(table, "rows.parquet")
    said = pq.ParquetFile("rows.parquet").metadata.row_group(0).column(0).statistics
    print(f"\nthe file {name} says: from {said.min} to {said.max}, and holds {len(rows)} rows, of which 1000 are NaN")
    connection = duckdb.connect()
    ways = {
        "a table in memory": "(SELECT * FROM held)",
        "the file": "'rows.parquet'",
        "the file, can_have_nan": "read_parquet('rows.parquet', can_have_nan = true)",
    }
    connection.execute("CREATE TABLE held AS SELECT * FROM 'rows.parquet'")
    for way, source in ways.items():
        ((count,),) = connection.execute(QUERY.format(source)).fetchall()
        found[name, way] = count
    connection.execute("SET disabled_optimizers = 'statistics_propagation,filter_pushdown'")
    ((found[name, "the file, two optimizers off"],),) = connection.execute(QUERY.format("'rows.parquet'")).fetchall()
    for (of, way), count in found.items():
        if of == name:
            print(f"  numbers below 6 in {way}: {count}")

expected = {
    ("as it is", "a table in memory"): 40,
    ("as it is", "the file"): 1040,
    ("as it is", "the file, can_have_nan"): 40,
    ("as it is", "the file, two optimizers off"): 40,
    ("and one row with 6", "a table in memory"): 40,
    ("and one row with 6", "the file"): 40,
    ("and one row with 6", "the file, can_have_nan"): 40,
    ("and one row with 6", "the file, two optimizers off"): 40,
}
assert found == expected, f"this changed: {found}"
print("\nas found")
PYTHON
"$folder/venv/bin/python" finding.py
