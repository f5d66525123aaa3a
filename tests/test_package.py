from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import spanscore
from spanscore import attributes

ROOT = Path(__file__).parent.parent
DOCUMENT = (ROOT / "docs" / "attributes.md").read_text()


def test_public_names_are_sorted_and_there():
    assert spanscore.__all__ == sorted(spanscore.__all__)
    assert all(hasattr(spanscore, name) for name in spanscore.__all__)


def test_every_module_lists_what_it_offers_in_order():
    for found in pkgutil.walk_packages(spanscore.__path__, "spanscore."):
        names = getattr(importlib.import_module(found.name), "__all__", [])
        assert sorted(names) == list(names), found.name


def test_every_name_on_the_wire_is_documented_and_every_documented_name_exists():
    texts = {value for key, value in vars(attributes).items() if key.isupper() and isinstance(value, str)}
    groups = [value for key, value in vars(attributes).items() if key in ("CONTENT", "CONTENT_PREFIXES")]
    names = texts | {item for group in groups for item in group}
    wire = {name for name in names if "." in name and not name.startswith("evaluations.") and name != attributes.PREFIX}
    suffixes = {value for key, value in vars(attributes).items() if key.endswith("_SUFFIX")}
    wire |= {f"spanscore.<evaluator>.{suffix}" for suffix in suffixes}
    wire -= suffixes - {attributes.ERROR_TYPE}
    documented = set(re.findall(r"`([a-z_]+(?:\.(?:[A-Za-z0-9_]+|<evaluator>))+\.?)`", DOCUMENT))
    assert wire - documented == set()
    assert documented - wire - {"evaluations.N.evaluation."} == set()


def test_no_attribute_name_stands_outside_its_file():
    for path in (ROOT / "src").rglob("*.py"):
        if path.name != "attributes.py":
            text = re.sub(r'"""[\s\S]*?"""', "", path.read_text())
            found = re.findall(r'"((?:gen_ai|openinference|input|output|llm)\.[a-z_.]+)"', text)
            assert not found or path.name in ("content.py", "rebuild.py"), (path, found)


def test_importing_opens_no_socket_sets_no_provider_and_loads_nothing_heavy():
    code = (
        "import socket, sys; socket.socket.connect = lambda *a: sys.exit('connected')\n"
        "import spanscore\n"
        "from opentelemetry import trace\n"
        "assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)\n"
        "heavy = {'pydantic', 'grpc', 'numpy', 'yaml', 'requests'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
