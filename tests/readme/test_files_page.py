"""`docs/files.md` runs as it is printed, on files that these formats' writers made, and each row of its table holds."""

from __future__ import annotations

import datetime
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.readme.sas import write_sas7bdat

PAGE = Path(__file__).parents[2] / "docs" / "files.md"
CODE = re.findall(r"^## (.+?)\n\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
LABELS = {"sex": {1: "female", 2: "male", 9: "not asked"}}
DAYS = [datetime.date(2020, 1, 31), datetime.date(2020, 2, 1), None, datetime.date(2021, 5, 5)]


def stays() -> pd.DataFrame:
    """Four stays: one with a code for "no answer" in two columns, one without a date."""
    return pd.DataFrame(
        {
            "sex": [1.0, 2.0, 2.0, 9.0],
            "age": [34.0, 51.0, 29.0, 999.0],
            "ward": ["007", "12", "", "12"],
            "admitted": DAYS,
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the same stays in every format."""
    import pyreadr
    import pyreadstat

    frame = stays()
    coded = frame.assign(admitted=pd.to_datetime(frame["admitted"]))
    pyreadstat.write_sav(
        frame,
        tmp_path / "stays.sav",
        variable_value_labels=LABELS,
        missing_ranges={"sex": [9], "age": [999]},
        variable_format={"admitted": "DATE11"},
    )
    pyreadstat.write_xport(frame, tmp_path / "stays.xpt", variable_format={"admitted": "DATE9."}, file_format_version=5)
    coded.drop(3).to_stata(
        tmp_path / "stays.dta",
        write_index=False,
        convert_dates={"admitted": "td"},
        value_labels={"sex": {1: "female", 2: "male"}},
    )
    coded.assign(age=["34", "51", "29", "n/a"]).to_excel(tmp_path / "stays.xlsx", sheet_name="stays", index=False)
    named = pd.Categorical(["female", "male", "male", None])
    pyreadr.write_rds(str(tmp_path / "stays.rds"), coded.assign(sex=named).dropna(subset=["admitted"]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_format_has_its_section() -> None:
    assert [name for name, _ in CODE] == ["SPSS", "Stata", "SAS", "Excel", "R"]


@pytest.mark.parametrize("name", [name for name, _ in CODE])
def test_a_section_runs_as_it_is_printed_and_counts_every_stay(folder: Path, name: str) -> None:
    found: dict[str, Any] = {}
    exec(dict(CODE)[name].replace('epsilon="2"', 'epsilon="200"').replace('epsilon="1"', 'epsilon="100"'), found)
    first, second = found["session"].releases.values()
    expected = {
        "SPSS": ([1, 2, 1], [2, 1, 1]),
        "Stata": ([1, 2, 0], [2, 0, 1]),
        "SAS": ([1, 2, 0], [2, 1, 1]),
        "Excel": ([1, 2, 1], [2, 1, 1]),
        "R": ([1, 1, 1], [2, 1, 0]),
    }
    assert (first.values, second.values) == expected[name]


def test_the_section_of_sas_counts_the_other_form_alike(folder: Path) -> None:
    write_sas7bdat(stays(), Path("stays.sas7bdat"))
    code = dict(CODE)["SAS"].replace('read_xport("stays.xpt")', 'read_sas7bdat("stays.sas7bdat")')
    assert "sas7bdat" in code
    found: dict[str, Any] = {}
    exec(code.replace('epsilon="2"', 'epsilon="200"').replace('epsilon="1"', 'epsilon="100"'), found)
    first, second = found["session"].releases.values()
    assert (first.values, second.values) == ([1, 2, 0], [2, 1, 1])
    assert found["stays"]["ward"].tolist() == ["007", "12", "", "12"] and found["stays"]["age"].tolist()[3] == 999


def test_the_versions_are_those_that_are_installed() -> None:
    words = PAGE.read_text(encoding="utf-8")
    for package in ("pyreadstat", "openpyxl", "pyreadr"):
        assert f"{package} {version(package)}" in words
    assert f"pandas {version('pandas').rpartition('.')[0]}" in words


def test_codes_for_no_answer_are_missing_or_kept_as_the_table_says(folder: Path) -> None:
    import pyreadstat

    plain, _ = pyreadstat.read_sav("stays.sav")
    assert plain["sex"].isna().sum() == plain["age"].isna().sum() == 1
    kept, about = pyreadstat.read_sav("stays.sav", user_missing=True)
    assert kept["age"].tolist() == [34, 51, 29, 999] and set(about.missing_ranges) == {"sex", "age"}
    assert about.variable_value_labels["sex"][9] == "not asked"
    kept, _ = pyreadstat.read_sav("stays.sav", user_missing=True, apply_value_formats=True)
    assert kept["sex"].tolist() == ["female", "male", "male", "not asked"]
    assert pyreadstat.read_xport("stays.xpt")[0]["age"].tolist() == [34, 51, 29, 999]
    assert pd.read_stata("stays.dta", convert_categoricals=False)["sex"].tolist() == [1, 2, 2]


def test_missing_letters_of_stata_are_one_missing_value_or_letters(folder: Path) -> None:
    import pyreadstat

    frame = pd.DataFrame({"age": [34, 51, "a"]})
    pyreadstat.write_dta(frame, "letters.dta", missing_user_values={"age": ["a"]})
    assert pd.read_stata("letters.dta")["age"].isna().tolist() == [False, False, True]
    assert pyreadstat.read_dta("letters.dta")[0]["age"].isna().tolist() == [False, False, True]
    assert pyreadstat.read_dta("letters.dta", user_missing=True)[0]["age"].tolist() == [34, 51, "a"]


def test_excel_takes_texts_for_numbers_unless_told(folder: Path) -> None:
    told = pd.read_excel("stays.xlsx", dtype={"ward": "str"})
    assert told["ward"].dropna().tolist() == ["007", "12", "12"] and told["age"].isna().sum() == 1
    assert told["admitted"].dtype.kind == "M"


def test_pandas_reads_texts_of_sas_as_bytes_unless_told(folder: Path) -> None:
    assert pd.read_sas("stays.xpt", encoding="utf-8")["ward"].tolist()[1] == "12"
    assert pd.read_sas("stays.xpt", encoding="utf-8")["admitted"].dtype.kind == "f"
    with pytest.warns(Warning, match="encoding"):
        assert pd.read_sas("stays.xpt")["ward"].tolist()[1] == b"12"
