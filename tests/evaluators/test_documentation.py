from __future__ import annotations

from pathlib import Path

from tests.evaluators.deviations import table


def test_the_documentation_has_the_table_of_deviations():
    document = (Path(__file__).parents[2] / "docs" / "evaluators.md").read_text()
    assert document.split("<!-- deviations -->\n\n")[1].strip() == table()
