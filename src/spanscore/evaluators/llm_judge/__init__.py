"""LLM judges: a model reads the output and says how good it is; code decides what that is worth."""

from spanscore.evaluators.llm_judge.agreement import krippendorff_alpha, votes_alpha
from spanscore.evaluators.llm_judge.budget import Budget, Price
from spanscore.evaluators.llm_judge.calibration import Calibration, calibrate, load_labels
from spanscore.evaluators.llm_judge.client import JudgeClient, JudgeReply, JudgeRequest
from spanscore.evaluators.llm_judge.http_client import HttpJudgeClient
from spanscore.evaluators.llm_judge.judge import LLMJudge
from spanscore.evaluators.llm_judge.limits import Limits
from spanscore.evaluators.llm_judge.panel import Panel
from spanscore.evaluators.llm_judge.policy import JudgePolicy, Sampling
from spanscore.evaluators.llm_judge.store import Cassette, VerdictCache
from spanscore.evaluators.llm_judge.strict_json import StrictJsonJudge
from spanscore.evaluators.llm_judge.trajectory import TrajectoryJudge

__all__ = [
    "Budget",
    "Calibration",
    "Cassette",
    "HttpJudgeClient",
    "JudgeClient",
    "JudgePolicy",
    "JudgeReply",
    "JudgeRequest",
    "LLMJudge",
    "Limits",
    "Panel",
    "Price",
    "Sampling",
    "StrictJsonJudge",
    "TrajectoryJudge",
    "VerdictCache",
    "calibrate",
    "krippendorff_alpha",
    "load_labels",
    "votes_alpha",
]
