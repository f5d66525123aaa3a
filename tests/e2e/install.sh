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

install_backend phoenix 'arize-phoenix>=20'
install_backend rotel 'rotel>=0.0.1a15'
install_backend agentmesh 'agentmesh-ai[otlp]>=0.5'
install_sdk oldest-sdk lowest-direct
# The distro's newest release may be for the SDK before the newest, and asks for that one's semantic conventions.
echo opentelemetry-semantic-conventions >.venv-e2e/overrides.txt
install_sdk newest-sdk highest --overrides .venv-e2e/overrides.txt

if [[ ! -x /usr/bin/chromium ]]; then
  apt-get update --quiet --quiet
  DEBIAN_FRONTEND=noninteractive apt-get install --quiet --quiet --yes --no-install-recommends chromium >.venv-e2e/chromium.log 2>&1 ||
    { cat .venv-e2e/chromium.log >&2; exit 1; }
fi
