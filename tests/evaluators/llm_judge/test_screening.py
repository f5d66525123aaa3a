from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore import Step
from spanscore.evaluators.llm_judge.prompt import OUTPUT_PROMPT, envelope
from spanscore.evaluators.llm_judge.screening import refusal, suspects_injection
from spanscore.step import MISSING
from tests.evaluators.llm_judge.attacks import ATTACKS, EXPECTED, HONEST, QUESTION
from tests.evaluators.llm_judge.judging import answering, closing, judge_of, nonce_of, served

REFUSABLE = [attack for attack in ATTACKS if attack.refusable]
OTHERS = [attack for attack in ATTACKS if not attack.refusable]


def test_the_corpus_is_large_and_has_no_case_twice():
    assert len(ATTACKS) >= 200
    assert len({repr(attack.output) for attack in ATTACKS}) == len(ATTACKS)


@closing
async def test_an_attack_that_code_can_refuse_scores_0_and_reaches_no_model():
    with served(answer=answering(score=5)) as server:  # a judge that falls for everything
        judge = judge_of(server)
        step = Step(name="agent", input=QUESTION)
        scores = [(attack, await judge.evaluate(attack.output, EXPECTED, step=step)) for attack in REFUSABLE]
    assert [attack for attack, score in scores if score.value != 0.0] == []
    assert {score.metrics["judge.calls"] for _, score in scores} == {0.0}
    assert server.requests == []


@pytest.mark.parametrize("attack", OTHERS, ids=lambda attack: attack.kind)
def test_an_attack_on_the_judge_is_suspected(attack):
    assert suspects_injection(attack.output)


@pytest.mark.parametrize("output", HONEST, ids=repr)
def test_an_honest_answer_is_read(output):
    assert refusal(output, EXPECTED, QUESTION, OUTPUT_PROMPT) is None
    assert not suspects_injection(output)


@pytest.mark.parametrize("same", ["", "...", "Answer:", [], {}, "Hello!", QUESTION["question"]])
def test_what_was_expected_is_never_refused(same):
    assert refusal(same, same, QUESTION, OUTPUT_PROMPT) is None


def test_a_part_of_the_input_is_an_answer_unless_it_is_the_question():
    given = {"text": "The Seine is 777 km long. It flows through Paris.", "question": "How long is the Seine?"}
    assert refusal("The Seine is 777 km long.", "777 km", given) is None
    assert refusal("How long is the Seine?", "777 km", given) == "only an echo of the prompt"
    assert refusal(" ".join(given.values()), "777 km", given) == "only an echo of the prompt"


@closing
async def test_no_attack_leaves_its_envelope():
    with served(answer=answering(score=0)) as server:
        judge = judge_of(server)
        for attack in OTHERS:
            await judge.evaluate(attack.output, EXPECTED)
    for body in server.requests:
        nonce, user = nonce_of(body), body["messages"][1]["content"]
        before, _, rest = user.partition(f"[{nonce} ActualOutput begins]\n")
        line, _, after = rest.partition(f"\n[{nonce} ActualOutput ends]")
        assert "\n" not in line
        assert after == f"\n\nThe nonce is {nonce}"
        assert before.count(EXPECTED) == 1
        assert EXPECTED not in line


@given(
    st.recursive(
        st.none() | st.text() | st.floats(allow_nan=False), lambda one: st.lists(one) | st.dictionaries(st.text(), one)
    )
)
def test_any_value_is_one_line_of_its_envelope(value):
    lines = envelope("ActualOutput", value, "7f").split("\n")
    assert (lines[0], lines[-1], len(lines)) == ("[7f ActualOutput begins]", "[7f ActualOutput ends]", 3)
    refusal(value, MISSING, value, "prompt")
    suspects_injection(value)
