"""The data that ships is the data that the README describes."""

from __future__ import annotations

import csv
import gzip
import re
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest

from dpviz import datasets

FOLDER = Path(datasets.__file__).parent
README = (FOLDER / "README.md").read_text()
LOADERS = {"doctor_visits": datasets.doctor_visits, "flights": datasets.flights}


def test_the_files_have_the_hashes_that_the_readme_states() -> None:
    stated = dict(re.findall(r"^([0-9a-f]{64})  (\S+)$", README, re.MULTILINE))
    found = {path.name: sha256(path.read_bytes()).hexdigest() for path in FOLDER.glob("*.csv.gz")}
    assert found == {name: digest for digest, name in stated.items()}
    assert set(found) == {f"{name}.csv.gz" for name in LOADERS}


@pytest.mark.parametrize("name", LOADERS)
def test_a_frame_holds_what_the_file_says_value_by_value(name: str) -> None:
    with gzip.open(FOLDER / f"{name}.csv.gz", "rt", newline="") as file:
        header, *rows = csv.reader(file)
    frame = LOADERS[name]()
    assert list(frame.columns) == header
    assert not frame.isna().any(axis=None)
    for column, written in zip(header, zip(*rows, strict=True), strict=True):
        values = frame[column].tolist()
        assert values == [type(values[0])(text) for text in written]


def test_the_numbers_in_the_readme_are_those_of_the_data() -> None:
    visits, flights = datasets.doctor_visits(), datasets.flights()
    assert visits.shape == (20_190, 4)
    assert (visits["visits"].min(), visits["visits"].max()) == (0, 77)
    assert set(visits["physical_limitation"]) == {0, 1}
    assert set(visits["self_rated_health"]) == {"excellent", "good", "fair", "poor"}
    assert flights.shape == (334_264, 3)
    assert (flights["aircraft"].nunique(), flights["destination"].nunique()) == (4_043, 104)
    assert 0 <= flights["scheduled_minute"].min() < flights["scheduled_minute"].max() <= 525_599


def test_each_call_gives_a_fresh_frame_that_brings_its_name() -> None:
    first = datasets.doctor_visits()
    first["visits"] = 0
    second = datasets.doctor_visits()
    assert second["visits"].sum() > 0
    assert isinstance(second, pd.DataFrame)
    assert second.attrs["dpviz"] == {"dataset": "doctor visits"}
    assert datasets.flights().attrs["dpviz"] == {"dataset": "flights"}
