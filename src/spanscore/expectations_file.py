"""The expectations file: JSON or YAML, validated by pydantic, to Expectation objects."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spanscore.cases import Cases
from spanscore.errors import ConfigurationError, MissingDependencyError
from spanscore.evaluators import create
from spanscore.evaluators.evaluator import Evaluator
from spanscore.expectations import Expectation
from spanscore.json_text import parse_config
from spanscore.step import MISSING

__all__ = ["load_expectations"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _EvaluatorEntry(BaseModel):
    model_config = ConfigDict(extra="allow")
    type: str


class _CasesEntry(_Strict):
    file: str
    key: str
    tags: list[str] = []


class _ExpectationEntry(_Strict):
    span: str = Field(min_length=1)
    evaluators: list[str | _EvaluatorEntry] = Field(default=["json_similarity"], min_length=1)
    expected: Any = MISSING
    where: dict[str, str | bool | int | float] = {}
    cases: _CasesEntry | None = None
    threshold: Annotated[float, Field(ge=0, le=1, strict=True)] | None = None
    weight: float = Field(default=1.0, gt=0, strict=True)
    id: str = ""


class _File(_Strict):
    expectations: list[_ExpectationEntry] = Field(min_length=1)


def load_expectations(path: str | PathLike[str]) -> list[Expectation]:
    """Return what the file says; see `spanscore.Expectations.load`."""
    file = Path(path)
    content = _parse(file)
    try:
        entries = _File.model_validate(content).expectations
    except ValidationError as error:
        raise ConfigurationError(f"{file}: {_told(error)}") from error
    return [_expectation(entry, file, index) for index, entry in enumerate(entries)]


def _parse(file: Path) -> Any:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read the expectations file {file}: {error.strerror}") from error
    if not data.strip():
        raise ConfigurationError(f"{file} is empty; it needs an object with the key 'expectations', a list")
    if file.suffix not in (".json", ".yaml", ".yml"):
        raise ConfigurationError(f"{file}: the name must end in .json, .yaml or .yml")
    return _parse_json(file, data) if file.suffix == ".json" else _parse_yaml(file, data)


def _parse_json(file: Path, data: bytes) -> Any:
    try:
        return parse_config(data)
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"{file}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # a key twice, no UTF-8
        raise ConfigurationError(f"{file}: {error}") from error


def _parse_yaml(file: Path, data: bytes) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingDependencyError(
            f"{file} is YAML, which needs PyYAML: pip install 'spanscore[yaml]', or write JSON"
        ) from error
    try:
        return yaml.load(data, _yaml_loader(yaml))  # noqa: S506  # a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # impossible dates, endless nesting
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        raise ConfigurationError(f"{file}{place}: not YAML: {getattr(error, 'problem', None) or error}") from error


def _yaml_loader(yaml: Any) -> Any:
    """Return a SafeLoader that refuses a repeated key, which YAML forbids and PyYAML overlooks."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # imported where it is used
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # PyYAML's
            met = set()
            for key, _ in node.value:
                if isinstance(key.value, str) and key.tag != "tag:yaml.org,2002:merge":
                    if key.value in met:
                        problem = f"the key {key.value!r} stands twice in one mapping"
                        raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                    met.add(key.value)
            return super().construct_mapping(node, deep)

    return Loader


def _told(error: ValidationError) -> str:
    lines = []
    for problem in error.errors():
        place = ".".join(str(part) for part in problem["loc"]) or "the file"
        lines.append(f"{place}: {problem['msg']} (given: {problem['input']!r:.80})")
    return "; ".join(lines)


def _expectation(entry: _ExpectationEntry, file: Path, index: int) -> Expectation:
    try:
        return Expectation(
            span_name=entry.span,
            evaluators=tuple(_evaluator(item) for item in entry.evaluators),
            expected=entry.expected,
            where=entry.where,
            cases=None if entry.cases is None else Cases.load(file.parent / entry.cases.file, tags=entry.cases.tags),
            case_key=None if entry.cases is None else entry.cases.key,
            threshold=entry.threshold,
            weight=entry.weight,
            id=entry.id,
        )
    except ConfigurationError as error:
        raise ConfigurationError(f"{file}: expectations.{index}: {error}") from error


def _evaluator(item: str | _EvaluatorEntry) -> Evaluator:
    if isinstance(item, str):
        return create(item, {})
    return create(item.type, item.model_extra or {})
