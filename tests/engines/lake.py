"""Delta and Iceberg tables as their own packages write them; and, by the words of their formats, rows that are deleted
by their places, which these packages read and do not write."""

from __future__ import annotations

import json
import struct
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
MAGIC = 1681511377


def bitmap(places: Sequence[int]) -> bytes:
    """Whole numbers below 2^16 as a RoaringBitmapArray: one bitmap, of one container, which is a sorted array."""
    places = sorted(places)
    inside = struct.pack("<IIHHI", 12346, 1, 0, len(places) - 1, 16) + struct.pack(f"<{len(places)}H", *places)
    return struct.pack("<IQI", MAGIC, 1, 0) + inside


def z85(data: bytes) -> str:
    data += b"\0" * (-len(data) % 4)
    numbers = struct.unpack(f">{len(data) // 4}I", data)
    return "".join(Z85[number // 85**place % 85] for number in numbers for place in (4, 3, 2, 1, 0))


def log(folder: Path) -> list[dict[str, Any]]:
    """The actions of a Delta table, in their order."""
    files = sorted((folder / "_delta_log").glob("*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def commit(folder: Path, *actions: dict[str, Any]) -> None:
    """One more version of a Delta table."""
    at = len(list((folder / "_delta_log").glob("*.json")))
    lines = "".join(json.dumps(action) + "\n" for action in actions)
    (folder / "_delta_log" / f"{at:020d}.json").write_text(lines)


def with_features(*features: str) -> dict[str, Any]:
    named = {"readerFeatures": [*features], "writerFeatures": [*features]}
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **named}}


def delete_places(folder: Path, places: Sequence[int], file: int = 0) -> None:
    """Delete rows of a file of a Delta table by a deletion vector that stands in the log."""
    added = [action["add"] for action in log(folder) if "add" in action][file]
    data = bitmap(places)
    held = {"storageType": "i", "pathOrInlineDv": z85(data), "sizeInBytes": len(data), "cardinality": len(places)}
    known = [action["protocol"].get("readerFeatures", []) for action in log(folder) if "protocol" in action][-1]
    commit(
        folder,
        with_features(*sorted({*known, "deletionVectors"})),
        {"remove": {"path": added["path"], "deletionTimestamp": int(time.time() * 1000), "dataChange": True}},
        {"add": {**added, "deletionVector": held}},
    )


def iceberg(folder: Path, schema: Any, properties: Mapping[str, str] | None = None) -> Any:
    """A new Iceberg table of no rows, of a catalog in memory."""
    from pyiceberg.catalog.memory import InMemoryCatalog

    catalog = InMemoryCatalog("tests", warehouse=f"file://{folder}")
    catalog.create_namespace("n")
    return catalog.create_table("n.visits", schema=schema, properties=dict(properties or {}))


def place_of(table: Any) -> Path:
    return Path(table.location().removeprefix("file://"))


def delete_positions(table: Any, places: Sequence[tuple[str, int]], content: str = "POSITION_DELETES") -> None:
    """Delete rows of an Iceberg table by a file of positions."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent, ManifestWriterV2
    from pyiceberg.typedef import Record

    class Deletes(ManifestWriterV2):
        def content(self) -> ManifestContent:
            return ManifestContent.DELETES

        @property
        def _meta(self) -> dict[str, str]:
            return {**super()._meta, "content": "deletes"}

    def field(name: str, kind: Any, number: int) -> Any:
        return pa.field(name, kind, False, metadata={"PARQUET:field_id": str(number)})

    schema = pa.schema([field("file_path", pa.string(), 2147483546), field("pos", pa.int64(), 2147483545)])
    file = place_of(table) / "data" / f"{uuid.uuid4().hex}-deletes.parquet"
    paths, numbers = zip(*places, strict=True)
    pq.write_table(pa.table({"file_path": list(paths), "pos": list(numbers)}, schema=schema), file)
    with table.transaction() as transaction:
        appending = transaction.update_snapshot().fast_append()
        appending.new_manifest_writer = lambda spec: Deletes(
            spec, table.schema(), appending.new_manifest_output(), appending.snapshot_id, "deflate"
        )
        deletes = DataFile.from_args(
            content=DataFileContent[content],
            file_path=f"file://{file}",
            file_format=FileFormat.PARQUET,
            partition=Record(),
            record_count=len(places),
            file_size_in_bytes=file.stat().st_size,
            equality_ids=[1] if content == "EQUALITY_DELETES" else None,
        )
        deletes.spec_id = table.spec().spec_id
        appending.append_data_file(deletes)
        appending.commit()


def files_of(table: Any) -> list[str]:
    """The files of rows of an Iceberg table, as it names them."""
    return sorted(task.file.file_path for task in table.scan().plan_files())
