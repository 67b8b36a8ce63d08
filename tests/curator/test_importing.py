"""Metadata of SmartNoise, Lomas and Croissant become a declaration; a field that says something else is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.curator.declaration import Declaration
from dpviz.curator.importing import declaration_from
from dpviz.errors import DpvizError, ParameterError, SchemaError
from tests.canary.mistakes import dissected

SMARTNOISE = """
"":
  ward:
    stays:
      max_ids: 4
      rows: 1_200
      censor_dims: true
      clamp_counts: false
      patient: {type: int, private_id: True, lower: 1, upper: 9}
      age: {type: int, lower: 0, upper: 99, nullable: true}
      paid: {type: float, lower: 0.0, upper: 1_000.50}
      country: {type: string, cardinality: 3, categories: [NO, SE, "12:30"]}
      left: {type: datetime, lower: 2020-01-01, upper: "2020-12-31 23:59"}
      smokes: {type: boolean}
      note: {type: string}
      odd: {type: unknown}
"""
LOMAS = """
max_ids: 1
row_privacy: true
rows: 90
columns:
  kind: {type: string, cardinality: 2, categories: [a, b]}
  week: {type: int, precision: 32, categories: [1, 2, 3], cardinality: 3}
  long: {type: float, precision: 64, lower: -1.5, upper: 1.5}
"""


def croissant(**changed: Any) -> str:
    def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
        source = {"fileObject": {"@id": "stays.csv"}, "extract": {"column": f"{name} here"}}
        return {
            "@type": "cr:Field",
            "@id": f"stays/{name}",
            "name": f"stays/{name}",
            "dataType": kind,
            "source": source,
        } | more

    tree = {
        "@context": {"@vocab": "https://schema.org/"}, "@type": "sc:Dataset", "name": "Stays",
        "distribution": [{"@type": "cr:FileObject", "@id": "stays.csv", "name": "stays.csv", "sha256": "0" * 64,
                          "contentUrl": "data/stays.csv", "encodingFormat": "text/csv"}],
        "recordSet": [
            {"@id": "sexes", "name": "sexes", "dataType": "sc:Enumeration", "key": {"@id": "sexes/label"},
             "field": [{"@id": "sexes/label", "name": "label", "dataType": "sc:Text"}],
             "data": [{"sexes/label": "f"}, {"sexes/label": "m"}]},
            {"@id": "stays", "name": "stays", "field": [
                field("age", "sc:Integer"), field("paid", ["https://schema.org/Float", "wd:Q1"]),
                field("sex", "sc:Text", references={"field": {"@id": "sexes/label"}}), field("left", "cr:Date"),
                field("smokes", "sc:Boolean"), field("weight", "cr:Float32")]},
        ],
    }  # fmt: skip
    fields: list[dict[str, Any]] = tree["recordSet"][1]["field"]  # type: ignore[index, assignment]
    fields[0] |= changed.pop("field", {})
    return json.dumps(tree | changed)


OF_FILE = {"fileObject": {"@id": "stays.csv"}}


def made(folder: Path, text: str, name: str = "stays.yaml", **given: Any) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return declaration_from(folder / name, **given).toml


def completed(folder: Path, toml: str) -> Declaration:
    """The same once a person has decided on what the metadata do not say."""
    toml = toml.replace("# epsilon = ", 'epsilon = "1"  # ').replace('# of = "row", or', 'of = "row"  #')
    toml = toml.replace('# file = "data.parquet"', 'file = "data.parquet"')
    (folder / "stays.toml").write_text(toml, encoding="utf-8")
    return Declaration.read(folder / "stays.toml")


def test_smartnoise_s_columns_bounds_and_limit_are_kept(tmp_path: Path) -> None:
    found = completed(tmp_path, made(tmp_path, SMARTNOISE))
    assert (found.dataset, found.unit) == ("stays", dv.Unit("patient", max_bins=4, max_per_bin=4, max_records=4))
    assert found.schema == {
        "patient": "number", "age": "number", "paid": "number", "country": "text", "left": "date", "note": "text",
    }  # fmt: skip
    beyond = {"underflow": True, "overflow": True}
    assert found.bins == {
        "age": dv.Domain.integers(0, 99, column="age", missing=True, **beyond),
        "paid": dv.Domain.intervals([0, "1000.5"], column="paid", **beyond),
        "country": dv.Domain.categories(["NO", "SE", "12:30"], column="country"),
        "left": dv.Domain.times("2020-01-01", "2021-01-01", by="day", column="left", **beyond),
    }


def test_lomas_metadata_are_kept(tmp_path: Path) -> None:
    found = completed(tmp_path, made(tmp_path, LOMAS, "stays_metadata.yaml"))
    assert (found.dataset, found.unit) == ("stays", dv.Unit("row"))
    assert found.schema == {"kind": "text", "week": "number", "long": "number"}
    assert found.bins["week"] == dv.Domain.categories([1, 2, 3], column="week")
    assert found.bins["long"].labels == ["under -1.5", "-1.5 to 1.5", "over 1.5"]


@pytest.mark.parametrize(
    "access",
    [
        "dataset_access: {database_type: PATH_DB, path: stays.csv}\n"
        "  metadata_access: {database_type: PATH_DB, path: PLACE}",
        "database_type: PATH_DB\n  dataset_path: stays.csv\n  metadata: {database_type: PATH_DB, metadata_path: PLACE}",
    ],
)
def test_a_data_set_of_a_list_of_lomas_is_read_with_its_metadata(access: str, tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "stays_metadata.yaml").write_text(LOMAS)
    entry = access.replace("PLACE", "../elsewhere/metadata/stays_metadata.yaml")
    text = f"datasets:\n- dataset_name: STAYS\n  {entry}\n- dataset_name: OTHER\n  {entry}\n"
    with pytest.raises(ParameterError, match="STAYS, OTHER"):
        made(tmp_path, text)
    with pytest.raises(ParameterError, match="did you mean STAYS"):
        made(tmp_path, text, table="STAY")
    toml = made(tmp_path, text, table="STAYS")
    assert 'dataset = "STAYS"' in toml and 'file = "stays.csv"' in toml
    with pytest.raises(SchemaError, match="no file of this machine"):
        made(tmp_path, text.replace("stays.csv", "https://example.org/stays.csv"), table="STAYS")


def test_croissant_s_fields_are_columns_of_the_file(tmp_path: Path) -> None:
    toml = made(tmp_path, croissant(), "stays.json")
    with pytest.raises(ParameterError, match="unit.of must be given|budget.epsilon must be given"):
        (tmp_path / "early.toml").write_text(toml)
        Declaration.read(tmp_path / "early.toml")
    found = completed(tmp_path, toml)
    assert found.schema == {
        "age here": "number", "paid here": "number", "sex here": "text", "left here": "date", "weight here": "number",
    }  # fmt: skip
    assert found.bins == {"sex here": dv.Domain.categories(["f", "m"], column="sex here")}
    assert 'file = "data/stays.csv"' in toml and "sha256" in toml


def test_a_budget_and_a_unit_that_nobody_decided_on_are_refused(tmp_path: Path) -> None:
    for text, missing in ((SMARTNOISE, "budget.epsilon"), (croissant(), "source|budget.epsilon|unit.of")):
        (tmp_path / "early.toml").write_text(made(tmp_path, text, "s.json" if text.startswith("{") else "s.yaml"))
        with pytest.raises(ParameterError, match=missing):
            Declaration.read(tmp_path / "early.toml")


REFUSED = [
    ("clamp_counts: false", "clamp_counts: true", "clamp_counts"),
    ("censor_dims: true", "censor_dims: false", "censor_dims"),
    ("rows: 1_200", "use_dpsu: true", "use_dpsu"),
    ("rows: 1_200", "clamp_columns: false", "clamp_columns"),
    ("rows: 1_200", "row_privacy: true", "max_ids"),
    ("rows: 1_200", "rows_: 3", "rows_"),
    ("nullable: true", "nullable: false", "nullable"),
    ("nullable: true", "missing_value: 5", "missing_value"),
    ("nullable: true", "sensitivity: 5", "sensitivity"),
    ("nullable: true", "nullable_proportion: 0.1", "nullable_proportion"),
    ("nullable: true", "max_partition_length: 100", "max_partition_length"),
    ("nullable: true", "max_influenced_partitions: 2", "max_influenced_partitions"),
    ("nullable: true", "private_id: true", "private_id"),
    ("cardinality: 3", "cardinality: 4", "cardinality"),
    (", upper: 1_000.50", "", "lower"),
    ("note: {type: string}", "note: {type: string, cardinality: 9}", "cardinality"),
    ("note: {type: string}", "note: {type: string, lower: 1, upper: 2}", "lower"),
]


@pytest.mark.parametrize(("right", "wrong", "name"), REFUSED, ids=[wrong or name for _, wrong, name in REFUSED])
def test_a_field_that_cannot_be_kept_is_refused_by_name_and_left_out_on_request(
    right: str, wrong: str, name: str, tmp_path: Path
) -> None:
    assert right in SMARTNOISE
    text = SMARTNOISE.replace(right, wrong, 1)
    with pytest.raises(SchemaError) as caught:
        made(tmp_path, text)
    advised = caught.value.next_step.partition("--without ")[2].split(",")
    assert name in [place.rpartition(".")[2] for place in advised]
    toml = made(tmp_path, text, without=advised)
    assert f"{name}: left out" in toml


@pytest.mark.parametrize(
    ("without", "unit"),
    [
        (["row_privacy"], dv.Unit("patient", max_bins=4, max_per_bin=4, max_records=4)),
        (["max_ids", "private_id"], dv.Unit("row")),
    ],
)
def test_a_person_chooses_where_rows_and_users_are_protected_at_once(
    without: list[str], unit: dv.Unit, tmp_path: Path
) -> None:
    text = SMARTNOISE.replace("rows: 1_200", "row_privacy: true")
    with pytest.raises(SchemaError, match="--without max_ids,columns.patient.private_id"):
        made(tmp_path, text)
    assert completed(tmp_path, made(tmp_path, text, without=without)).unit == unit


def test_every_refused_field_is_named_at_once(tmp_path: Path) -> None:
    text = SMARTNOISE.replace("clamp_counts: false", "clamp_counts: true").replace("nullable: true", "nullable: false")
    with pytest.raises(SchemaError) as caught:
        made(tmp_path, text)
    assert "clamp_counts, columns.age.nullable" in caught.value.value
    assert "--without clamp_counts,columns.age.nullable" in caught.value.next_step
    assert "nullable: left out" in made(tmp_path, text, without=["clamp_counts", "nullable"])  # by name, wherever


def test_a_user_who_has_no_more_rows_by_declaration_is_a_fact_and_a_limit(tmp_path: Path) -> None:
    found = completed(tmp_path, made(tmp_path, SMARTNOISE.replace("rows: 1_200", "sample_max_ids: false")))
    assert (found.unit.max_records, found.unit.most_records) == (4, 4)


def test_the_limit_of_smartnoise_is_on_rows_in_all(tmp_path: Path) -> None:
    unit = completed(tmp_path, made(tmp_path, SMARTNOISE)).unit
    assert unit.l1(1) == unit.l1(100) == 4


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ({"repeated": True}, "repeated"),
        ({"subField": []}, "subField"),
        ({"dataType": "sc:ImageObject"}, "dataType"),
        ({"references": {"field": {"@id": "elsewhere/label"}}}, "references"),
        (
            {"source": {"fileObject": {"@id": "stays.csv"}, "extract": {"column": "a"}, "transform": {"regex": "x"}}},
            "transform",
        ),
        ({"source": {"fileObject": {"@id": "stays.csv"}, "extract": {"jsonPath": "$.a"}}}, "jsonPath"),
    ],
)
def test_a_field_of_croissant_that_changes_values_is_refused_by_name(
    field: dict[str, Any], name: str, tmp_path: Path
) -> None:
    with pytest.raises(SchemaError, match=name):
        made(tmp_path, croissant(field=field), "stays.json")


def test_an_address_on_the_web_is_not_fetched(tmp_path: Path) -> None:
    files = json.loads(croissant())["distribution"]
    files[0]["contentUrl"] = "https://example.org/get/7"
    toml = made(tmp_path, croissant(distribution=files), "stays.json")
    assert 'file = "stays.csv"' in toml and "put the file beside" in toml


ODD = [
    ("max_ids: 1\nmax_ids: 2\n", "max_ids twice"),
    ("a: &x {type: int}\nb: *x\n", "without anchors"),
    ("a: [1, 2\n", "must be YAML"),
    ("--- \na: 1\n--- \nb: 2\n", "one document"),
    ("just words", "must be a table"),
    ("", "one document"),
    ("a: {b: {c: {d: {e: {type: int}}}}}", "columns that have a type"),
    ("a: {t: {x: {type: complex}}}", "type must be one of"),
    ("a: {t: {x: {type: int, lower: zero, upper: 1}}}", "lower"),
    ("a: {t: {x: {type: int, lower: 5, upper: 1}}}", "reversed"),
    ("a: {t: {x: {type: int, private_id: maybe}}}", "true or false"),
    ("a: {t: {x: {type: int}, max_ids: 0}}", "max_ids"),
    ("a: {t: {x: {type: string, categories: [a, a]}}}", "labels must differ"),
    ("? [a]\n: b\n", "names in metadata"),
    ("a: " + "{b: " * 40 + "1" + "}" * 40, "cannot be read"),
    ("a: " + "[" * 4_000, "YAML"),
    ("a: {t: {x: {type: date, lower: soon, upper: later}}}", "must be a date"),
]


@pytest.mark.parametrize(("text", "told"), ODD, ids=[told for _, told in ODD])
def test_odd_metadata_are_refused_in_our_words(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DpvizError, match=told):
        made(tmp_path, text)


@pytest.mark.parametrize("content", [b"\xff\xfea", b'{"recordSet": ', b'{"a": 1, "a": 2}', b"[" * 100_000])
def test_broken_json_is_refused_without_a_word_of_it(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "stays.json").write_bytes(content)
    with pytest.raises(DpvizError):
        declaration_from(tmp_path / "stays.json")


def test_signs_of_any_kind_survive_as_text(tmp_path: Path) -> None:
    labels = ['quo"te', "back\\slash", "tab\there", "line\nend", "delete\x7f", "smile ☺", "#no remark", "ünï"]
    column = {"type": "string", "categories": labels}
    tree = {"": {"ward": {"a table\nof # signs": {"row_privacy": "true", "a [column]\n= #": column}}}}
    (tmp_path / "odd.json").write_text(json.dumps(tree))
    toml = declaration_from(tmp_path / "odd.json").toml
    found = completed(tmp_path, toml.replace("a table\\nof # signs", "signs"))
    assert found.bins["a [column]\n= #"] == dv.Domain.categories(labels, column="a [column]\n= #")


def test_no_refusal_quotes_rows_that_stand_in_the_metadata(tmp_path: Path) -> None:
    sets = json.loads(croissant())["recordSet"]
    sets[1]["data"] = [{"age": "Quetzalwren"}]
    with pytest.raises(SchemaError, match="data, which holds rows") as caught:
        made(tmp_path, croissant(recordSet=sets), "stays.json")
    assert "Quetzalwren" not in dissected(caught.value)
