"""Imports of the page point down the layers of its folders, and never run in a circle; types included."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.page_layers import LEVEL, STYLES, circles, modules, violations

SOURCE = Path(__file__).resolve().parents[2] / "widgets/src"


def planted(folder: Path, **texts: str) -> Path:
    """A folder of modules: `dom__table` names the module `dom/table`."""
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.ts"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def test_no_module_of_the_page_imports_upwards() -> None:
    assert violations(SOURCE) == []


def test_no_imports_of_the_page_run_in_a_circle() -> None:
    assert circles(modules(SOURCE)) == []


def test_every_import_by_a_relative_path_leads_to_a_module() -> None:
    graph = modules(SOURCE)
    assert [(name, target) for name, targets in graph.items() for target in targets if target not in graph] == []
    assert len(graph) > 100
    assert sum(map(len, graph.values())) > 3 * len(graph)


def test_every_folder_of_the_page_has_a_layer_and_three_modules() -> None:
    folders = {path.name: len(list(path.iterdir())) for path in SOURCE.iterdir()}
    assert folders.keys() == {*LEVEL, STYLES}
    assert min(folders.values()) >= 3


@pytest.mark.parametrize(
    "text",
    [
        'import { h } from "../dom/dom";',
        'import type { Component } from "../dom/component";',
        'import {\n    h,\n    type Box,\n} from "../dom/dom";',
        'import "../dom/dom";',
        'export { h } from "../dom/dom";',
        'export * from "../dom/dom";',
        'const late = () => import("../dom/dom");',
        "import { h } from '../dom/dom';",
        'import { h } from "../dom";',
        'import { h } from "../elsewhere/dom";',
    ],
)
def test_a_planted_import_upwards_is_found(tmp_path: Path, text: str) -> None:
    assert len(violations(planted(tmp_path, numbers__exact=text))) == 1


def test_folders_of_one_layer_and_modules_without_a_folder_are_found(tmp_path: Path) -> None:
    source = planted(tmp_path, views__tree='import { a } from "../stores/plan";', loose="export const a = 1;")
    assert violations(source) == [
        "loose lies in no folder that has a layer; give it one in tests/architecture/page_layers.py",
        "views/tree: views and stores do not import each other",
    ]


def test_imports_that_point_down_and_words_about_imports_are_allowed(tmp_path: Path) -> None:
    words = '/** import "../programs/loader" is not done here. */\n// import "../programs/loader";\n'
    down = 'import { h } from "../dom/dom";\nimport { b } from "./b";\nimport * as d3 from "d3-scale";\n'
    assert violations(planted(tmp_path, charts__a=words + down, charts__b="")) == []


def test_a_circle_of_types_is_found_and_a_fork_is_none(tmp_path: Path) -> None:
    source = planted(tmp_path, dom__a='import "./b";\nimport "./c";', dom__b='import "./c";', dom__c="")
    assert circles(modules(source)) == []
    planted(tmp_path, dom__c='import type { A } from "./a";')
    assert circles(modules(source)) == [
        "dom/a -> dom/c -> dom/a",
        "dom/b -> dom/c -> dom/a -> dom/b",
        "dom/c -> dom/a -> dom/c",
    ]


def test_the_page_of_the_folders_names_each_from_the_lowest_layer_up() -> None:
    text = (SOURCE.parent / "README.md").read_text()
    named = re.findall(r"^\| `(\w+)/` \| .* \| (.+) \|$", text, re.MULTILINE)
    assert [name for name, _ in named] == sorted(
        (name for name, _ in named), key=lambda name: LEVEL.get(name, len(LEVEL))
    )
    assert {name for name, _ in named} == {*LEVEL, STYLES}
    starts = [(name, file) for name, files in named for file in re.findall(r"`([\w.]+)`", files)]
    assert [f"{name}/{file}" for name, file in starts if not (SOURCE / name / file).exists()] == []
