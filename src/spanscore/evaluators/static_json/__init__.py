"""StaticJson, an evaluator of structured answers; a module for each step of its rule."""

from __future__ import annotations

from spanscore.evaluators.static_json.scorer import Revision, StaticJson

__all__ = ["Revision", "StaticJson"]
