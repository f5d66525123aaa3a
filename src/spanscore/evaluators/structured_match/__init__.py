"""StructuredMatch: the fields of two JSON values, compared each in its own way."""

from spanscore.evaluators.structured_match.evaluator import StructuredMatch
from spanscore.evaluators.structured_match.sources import Match, rules_of_model, rules_of_schema

__all__ = ["Match", "StructuredMatch", "rules_of_model", "rules_of_schema"]
