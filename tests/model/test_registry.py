"""A release as a record of OpenDP's registry of deployments: known facts are filled in, others are named gaps."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import nbformat
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import dpviz as dv
from dpviz import cli
from dpviz.errors import ParameterError
from dpviz.model import registry
from dpviz.privacy.loss import ZCDP
from tests.architecture.tree import ROOT
from tests.model import deployments

FACTS: dict[str, Any] = {
    "data_curators": {'A clinic: "north"': "Nonprofit"},
    "intended_use": "Planning",
    "data_product_region": "Australia",
    "data_product_sector": "Healthcare",
    "publication_date": "2026-12-01",
    "actors": "Readers of the report",
    "preprocessing_and_hyperparameter_tuning": "None",
    "justification": "Small ε",
    "registry_authors": ["A", "B"],
}


def faults(record: Any) -> list[str]:
    """The place of everything that the registry's schema refuses in a record."""
    check = jsonschema.Draft7Validator(deployments.SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
    return [str(one.absolute_path[-1]) if one.absolute_path else one.message for one in check.iter_errors(record)]


def session(tmp_path: Path, unit: dv.Unit | None = None, **more: Any) -> dv.Session:
    rows = pd.DataFrame({"user": [f"u{at % 7}" for at in range(60)], "month": [at % 12 + 1 for at in range(60)]})
    return dv.Session(rows, unit or dv.Unit("row"), dv.Budget("9", "1/100", **more), tmp_path / "a.ledger")


MONTHS = dv.Domain.integers(1, 12, column="month")


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The names of the start notebook once its own cells have made the release; its session keeps the ledger open."""
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("start"))
        for cell in nbformat.read(ROOT / "notebooks/00_start.ipynb", as_version=4).cells:
            if cell.cell_type == "code" and "release" not in names:
                exec(cell.source, names)
    return names


def test_the_card_of_the_start_notebook_has_eight_gaps_at_most_and_the_schema_refuses_nothing_else(
    cells: dict[str, Any],
) -> None:
    release = cells["release"]
    text = release.registry()
    gaps = registry.gaps(registry.record(release, release.drawn))
    assert 0 < len(gaps) <= 8
    assert set(faults(yaml.safe_load(text))) == set(gaps) - set(deployments.UNCHECKED)
    assert [name for name in gaps if f"{name}: null  # {registry.GAPS[name]}" not in text] == []


def test_a_card_whose_gaps_a_person_fills_is_taken_by_the_schema(cells: dict[str, Any]) -> None:
    text = cells["release"].registry(**FACTS)
    record = yaml.safe_load(text)
    assert faults(record) == [] and "null" not in text and "# No gap is left." in text
    basic = record["deployment"]["basic"]
    assert basic["publication_date"] == "2026-12-01" and basic["intended_use"] == "Planning"
    curator = {"data_curator_name": 'A clinic: "north"', "data_curator_type": "Nonprofit"}
    assert basic["data_curators"] == [curator]
    assert record["deployment"]["administrative"]["registry_authors"] == ["A", "B"]


def test_the_schema_that_tests_hold_refuses_what_the_registry_refuses(cells: dict[str, Any]) -> None:
    record = yaml.safe_load(cells["release"].registry(**FACTS))
    assert registry.CURATORS == deployments.CURATORS and registry.SECTORS == deployments.SECTORS
    assert f"commit {deployments.COMMIT}, read\non {deployments.READ}" in (registry.__doc__ or "")
    record["deployment"]["dp_variant"]["surprise"] = "x"
    del record["deployment"]["basic"]["name"]
    record["deployment"]["basic"]["publication_date"] = "1/1/2026"
    record["deployment"]["dp_variant"]["variant_name"] = "DP"
    assert len(faults(record)) == 4


CASES = {
    "Pure DP": (MONTHS, dv.Dense("1/3"), {"epsilon": Fraction(1, 3)}),
    "Approximate DP": (
        dv.Domain.keys(column="month"),
        dv.Stability("1", "1e-6"),
        {"epsilon": Fraction(1), "delta": Fraction(1, 10**6)},
    ),
}


@pytest.mark.parametrize("variant", CASES)
def test_parameters_are_never_below_the_price(variant: str, tmp_path: Path) -> None:
    question, mechanism, price = CASES[variant]
    release = session(tmp_path).release(question, mechanism)
    record = yaml.safe_load(release.registry(**FACTS))
    assert faults(record) == []
    shown = record["deployment"]["privacy_loss"]["privacy_parameters"]
    assert record["deployment"]["dp_variant"]["variant_name"] == variant
    assert shown.keys() == price.keys()
    for name, value in price.items():
        assert isinstance(shown[name], float)
        assert 0 <= Fraction(shown[name]) - value < value / 2**52


def test_gaussian_noise_is_told_by_its_rho_beside_the_price(tmp_path: Path) -> None:
    release = session(tmp_path).release(MONTHS, dv.Dense("1", base="gaussian", delta="1e-6"))
    record = yaml.safe_load(release.registry(**FACTS))
    steps = release.guarantee.zcdp_steps
    assert faults(record) == [] and isinstance(steps, ZCDP)
    shown = record["deployment"]["privacy_loss"]["privacy_parameters"]
    assert list(shown) == ["epsilon", "delta", "rho"]
    assert steps.rho <= Fraction(shown["rho"]) < steps.rho * (1 + Fraction(1, 2**50))
    assert steps.sentence in record["deployment"]["privacy_loss"]["privacy_parameters_details"]


def test_users_limits_and_a_public_number_of_rows_are_named(tmp_path: Path) -> None:
    user = dv.Unit("user", noun="patient", max_bins=3)
    of_user = session(tmp_path, user).release(MONTHS, dv.Dense("1"))
    loss = yaml.safe_load(of_user.registry(**FACTS))["deployment"]["privacy_loss"]
    assert loss["privacy_unit"].startswith("User-level: patient")
    assert "at most 3 bins" in loss["privacy_unit_details"] and of_user.limits in loss["privacy_unit_details"]
    (tmp_path / "rows").mkdir()
    rows = dv.Unit("row", relation="replace-one", n=60)
    record = yaml.safe_load(session(tmp_path / "rows", rows).release(MONTHS, dv.Dense("1")).registry(**FACTS))
    assert faults(record) == []
    assert record["deployment"]["privacy_loss"]["number_of_privacy_units"] == 60
    assert record["deployment"]["privacy_loss"]["privacy_unit"].startswith("Event-level")
    assert "60" in record["deployment"]["dp_variant"]["unprotected_quantities"]


def test_a_card_of_a_loaded_release_asks_for_the_day_that_only_a_ledger_knows(tmp_path: Path) -> None:
    asked = session(tmp_path)
    release = asked.release(MONTHS, dv.Dense("1"))
    saved = release.save(tmp_path / "r.json")
    loaded = dv.load(saved)
    assert release.drawn and not loaded.drawn
    before = {"publication_date": release.drawn}
    assert loaded.registry(**before) == release.registry()
    assert "publication_date" in registry.gaps(registry.record(loaded))


def test_a_card_is_written_to_a_file_and_other_formats_are_refused(tmp_path: Path) -> None:
    asked = session(tmp_path)
    release = asked.release(MONTHS, dv.Dense("1"))
    assert release.registry(tmp_path / "card.yaml") is None
    assert (tmp_path / "card.yaml").read_text() == release.registry()
    with pytest.raises(dv.DpvizError, match="YAML"):
        release.registry(tmp_path / "card.json")
    assert not (tmp_path / "card.json").exists()


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"colour": "red"}, "colour"),
        ({"data_product_sector": "Sports"}, "Sports"),
        ({"publication_date": "1/1/2026"}, "1/1/2026"),
        ({"data_curators": {"A": "Person"}}, "Person"),
        ({"data_curators": {}}, "data_curators"),
        ({"data_curators": "A"}, "data_curators"),
        ({"intended_use": "  "}, "intended_use"),
        ({"justification": "\ud800"}, "justification"),
        ({"registry_authors": []}, "registry_authors"),
        ({"actors": 3}, "actors"),
    ],
)
def test_a_fact_that_the_registry_does_not_take_is_refused_and_no_file_is_written(
    facts: dict[str, Any], said: str, tmp_path: Path
) -> None:
    asked = session(tmp_path)
    release = asked.release(MONTHS, dv.Dense("1"))
    with pytest.raises(ParameterError, match=said) as refused:
        release.registry(tmp_path / "card.yaml", **facts)
    assert refused.value.rule and refused.value.next_step
    assert not (tmp_path / "card.yaml").exists()


def test_a_teaching_draw_has_no_card() -> None:
    lesson = dv.teaching(pd.DataFrame({"month": [1, 2]}), seed=1)
    with pytest.raises(dv.DpvizError, match="teaching"):
        lesson.draw(MONTHS, dv.Dense("1")).registry()


@given(st.dictionaries(st.sampled_from("abc"), st.text(st.characters(exclude_categories=["Cs"]))))
def test_a_reader_of_yaml_gets_every_text_back(texts: dict[str, str]) -> None:
    assert (yaml.safe_load(registry.yaml(texts)) or {}) == texts


@pytest.mark.parametrize(
    "odd", ["- a\n- b", "a\n b", "a\n", "x\u2028y\nz", '\U0001f600 "q" \\', "\x07\x85\ufeff", "# a"]
)
def test_odd_texts_come_back_as_well(odd: str) -> None:
    assert yaml.safe_load(registry.yaml({"a": odd, "b": [odd]})) == {"a": odd, "b": [odd]}


def test_the_command_writes_the_card_of_a_release_and_of_an_answer_of_a_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = session(tmp_path)
    release = asked.release(MONTHS, dv.Dense("1"))
    ledger = str(tmp_path / "a.ledger")
    assert cli.main(["ledger", "registry", ledger, "1"]) == cli.DONE
    assert capsys.readouterr().out == release.registry()
    assert cli.main(["ledger", "registry", ledger, "1", "--json"]) == cli.DONE
    found = json.loads(capsys.readouterr().out)
    assert found["record"] == yaml.safe_load(release.registry() or "") and len(found["gaps"]) == 8
    assert cli.main(["ledger", "registry", ledger, "9"]) == cli.REFUSED
    assert "9" in capsys.readouterr().err
    tape = asked.open(dv.PayWhatYouGet(symbols=5, questions=2, epsilon="1", delta="1e-6"))
    answer = tape.ask("month", k=2)
    assert cli.main(["ledger", "registry", ledger, "2", "--use", "1"]) == cli.DONE
    text = capsys.readouterr().out
    assert text == answer.registry() and "Interactive" in text
    assert set(faults(yaml.safe_load(text))) <= set(registry.GAPS)
