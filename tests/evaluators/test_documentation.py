from __future__ import annotations

from pathlib import Path

from tests.evaluators import deviations, pairs

DOCUMENT = (Path(__file__).parents[2] / "docs" / "evaluators.md").read_text()


def test_the_documentation_has_the_table_of_deviations():
    assert DOCUMENT.split("<!-- deviations -->\n\n")[1].strip() == deviations.table()


def test_the_documentation_has_the_table_of_pairs():
    assert DOCUMENT.split("<!-- pairs -->\n\n")[1].split("\n\n<!-- end of pairs -->")[0] == pairs.table()
