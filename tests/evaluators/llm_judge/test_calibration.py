from __future__ import annotations

import json
from dataclasses import replace

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from spanscore import ConfigurationError, Score
from spanscore.evaluators.llm_judge import calibrate, krippendorff_alpha
from spanscore.evaluators.llm_judge.agreement import cohen_kappa, wilson

COUNTS = st.integers(0, 200)


@given(st.lists(st.lists(COUNTS, min_size=3, max_size=3), min_size=3, max_size=3))
def test_kappa_and_its_interval_equal_those_of_statsmodels(table):
    found = cohen_kappa(table)
    if found.value is None:
        used = {i for i in range(3) if sum(table[i]) or sum(row[i] for row in table)}
        assert len(used) < 2
        return
    with np.errstate(all="ignore"):  # it divides by zero in its weights
        theirs = cohens_kappa(np.array(table))
    assert found.value == pytest.approx(theirs.kappa, abs=1e-6)
    if theirs.var_kappa > 1e-15:
        assert (found.low, found.high) == pytest.approx((theirs.kappa_low, theirs.kappa_upp), abs=1e-6)


@given(COUNTS, st.integers(1, 200))
def test_shares_and_their_intervals_equal_those_of_statsmodels(successes, trials):
    successes = min(successes, trials)
    found = wilson(successes, trials)
    assert (found.low, found.high) == pytest.approx(proportion_confint(successes, trials, method="wilson"), abs=1e-6)


RATINGS = st.one_of(st.none(), st.sampled_from([0.0, 0.2, 0.4, 0.6, 0.8, 1.0]))


@given(
    st.lists(st.lists(RATINGS, min_size=3, max_size=3), min_size=2, max_size=12),
    st.sampled_from(["nominal", "interval"]),
)
def test_alpha_equals_that_of_the_krippendorff_package(units, level):
    found = krippendorff_alpha(units, level=level)
    rated = [[value for value in unit if value is not None] for unit in units]
    pairable = [value for unit in rated if len(unit) > 1 for value in unit]
    if len(set(pairable)) < 2:
        assert found is None
        return
    matrix = np.array([[np.nan if value is None else value for value in unit] for unit in units]).T
    theirs = krippendorff.alpha(reliability_data=matrix, level_of_measurement=level)
    assert found == pytest.approx(theirs, abs=1e-6)


def _labels(*counts):
    """Return labels and scores with that many true passes, false passes, false fails and true fails."""
    kinds = ((True, 0.9), (False, 0.8), (True, 0.3), (False, 0.1))
    pairs = [kind for kind, count in zip(kinds, counts, strict=True) for _ in range(count)]
    return {str(n): label for n, (label, _) in enumerate(pairs)}, {str(n): score for n, (_, score) in enumerate(pairs)}


def test_a_calibration_has_the_matrix_the_figures_and_what_to_read():
    labels, scores = _labels(40, 5, 10, 45)
    scores["0"] = Score(evaluator="llm_judge", value=None, label="error")
    scores["1"] = Score(evaluator="llm_judge", value=0.95)
    scores["41"] = 0.99
    found = calibrate(labels, scores)
    assert (found.true_pass, found.false_pass, found.false_fail, found.true_fail) == (39, 5, 10, 45)
    assert found.unscored == ("0",)
    assert found.agreement.value == pytest.approx(84 / 99)
    assert found.base_rate.value == pytest.approx(49 / 99)
    assert found.sensitivity.value == pytest.approx(39 / 49)
    assert found.specificity.value == pytest.approx(45 / 50)
    assert len(found.disagreements) == 15
    assert found.disagreements[0] == "41"
    assert f"calibration {found.id}: 99 labels, 1 without a score" in str(found)


def test_the_id_is_of_labels_scores_and_threshold():
    labels, scores = _labels(4, 1, 1, 4)
    same = calibrate(labels, scores).id
    assert calibrate(dict(reversed(labels.items())), scores).id == same
    assert calibrate(labels, scores, threshold=0.6).id != same
    assert calibrate(labels, {**scores, "0": 0.91}).id != same


def test_the_corrected_pass_rate_is_rogan_and_gladens():
    found = calibrate(*_labels(80, 10, 20, 90))
    assert found.pass_rate(450, 1000).value == pytest.approx((0.45 + 0.9 - 1) / (0.8 + 0.9 - 1))
    assert found.pass_rate(0, 1000).value == 0.0
    assert calibrate(*_labels(10, 10, 10, 10)).pass_rate(5, 10).value is None
    assert calibrate(*_labels(10, 0, 10, 0)).pass_rate(5, 10).value is None


@pytest.mark.parametrize(
    ("truth", "sensitivity", "specificity"), [(0.7, 0.9, 0.8), (0.3, 0.8, 0.95), (0.5, 0.75, 0.75)]
)
def test_the_corrected_interval_holds_the_truth_in_94_to_97_of_100_simulations(truth, sensitivity, specificity):
    random = np.random.default_rng(7)
    rounds, held = 4_000, 0
    for _ in range(rounds):
        good = random.binomial(200, truth)
        true_pass, true_fail = random.binomial(good, sensitivity), random.binomial(200 - good, specificity)
        calibration = _counted(good, true_pass, true_fail)
        passing = random.binomial(1_000, truth * sensitivity + (1 - truth) * (1 - specificity))
        interval = calibration.pass_rate(passing, 1_000)
        held += interval.low <= truth <= interval.high
    assert 0.94 <= held / rounds <= 0.97


def _counted(good, true_pass, true_fail):
    return replace(
        TEMPLATE,
        true_pass=int(true_pass),
        false_fail=int(good - true_pass),
        true_fail=int(true_fail),
        false_pass=int(200 - good - true_fail),
    )


TEMPLATE = calibrate({"a": True, "b": False}, {"a": 1.0, "b": 0.0})


def test_labels_are_read_from_a_file(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text('{"id": "a", "label": "pass"}\n\n{"id": 2, "label": false}\n')
    assert calibrate(path, {"a": 0.9, "2": 0.1}).agreement.value == 1.0


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        '{"id": 1}',
        '{"id": 1, "label": "maybe"}',
        '{"id": 1, "label": 1}',
        '{"id": "a", "label": true}',
        "[]",
    ],
)
def test_a_wrong_label_names_its_line(tmp_path, line):
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps({"id": "a", "label": True}) + "\n" + line)
    with pytest.raises(ConfigurationError, match=r"labels.jsonl:2: "):
        calibrate(path, {"a": 1.0})


def test_scores_without_labels_are_refused():
    with pytest.raises(ConfigurationError, match="have no label: c"):
        calibrate({"a": True}, {"a": 1.0, "c": 0.0})
    with pytest.raises(ConfigurationError, match="no label has a score"):
        calibrate({"a": True}, {"a": None})
