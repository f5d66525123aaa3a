"""HttpJudgeClient: any OpenAI-compatible endpoint, over aiohttp."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import orjson

from spanscore.errors import (
    ConfigurationError,
    JudgeCallError,
    JudgeResponseError,
    JudgeTimeoutError,
    MissingDependencyError,
)
from spanscore.evaluators.llm_judge.client import JudgeReply, JudgeRequest

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession
    from yarl import URL

__all__ = ["HttpJudgeClient"]

_OPENAI: Final = "https://api.openai.com/v1"
_MAX_BYTES: Final = 4 << 20


@dataclass(slots=True, kw_only=True, eq=False)
class HttpJudgeClient:
    """Asks an OpenAI-compatible endpoint: OpenAI, vLLM, Ollama, llama.cpp, a LiteLLM proxy.

    Needs the extra ``spanscore[judge]``. Nothing is contacted before the first request, and nothing
    at all unless an endpoint was named: by a base URL, or by a key, which alone means OpenAI. One
    session an event loop, opened with its first request; it is closed by `aclose`, or else when the
    loop shuts down its asynchronous generators, as ``asyncio.run`` does. Redirects are not followed.
    Proxies are taken from the environment.

    Raises:
        ConfigurationError: the base URL is none.
        MissingDependencyError: aiohttp is not installed.

    Args:
        base_url: such as ``http://127.0.0.1:11434/v1``; by default the variable ``OPENAI_BASE_URL``.
        api_key: sent as the bearer token; by default the variable ``OPENAI_API_KEY``.

    >>> HttpJudgeClient(base_url="http://127.0.0.1:11434/v1/").endpoint
    'http://127.0.0.1:11434/v1'
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    _connections: dict[asyncio.AbstractEventLoop, _Connection] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.base_url is not None:
            _checked(self.base_url)
        _load()

    @property
    def endpoint(self) -> str:
        """Return the base URL, without a slash at its end.

        Raises:
            ConfigurationError: no endpoint was named, or its URL is none.
        """
        named = self.base_url or os.environ.get("OPENAI_BASE_URL") or (_OPENAI if self._key() else None)
        if named is None:
            raise ConfigurationError(
                "a judge has no endpoint to ask: set OPENAI_BASE_URL or OPENAI_API_KEY, "
                "or give HttpJudgeClient(base_url=..., api_key=...)"
            )
        return _checked(named)

    async def complete(self, request: JudgeRequest) -> JudgeReply:
        """Return the model's answer; see `JudgeClient.complete`.

        Raises:
            ConfigurationError: no endpoint was named.
        """
        aiohttp, answers = _load()
        connection = await self._connection()
        try:
            async with (
                asyncio.timeout(request.timeout_s),
                connection.session.post(
                    connection.url,
                    data=orjson.dumps(request.body()),
                    headers=connection.headers,
                    proxy=connection.proxy,
                    allow_redirects=False,
                ) as response,
            ):
                body = await _read(response)
        except TimeoutError:
            raise JudgeTimeoutError(f"the judge's endpoint did not answer within {request.timeout_s:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            told = f"the judge's endpoint was not reached, or closed the connection ({type(error).__name__})"
            sent = not isinstance(error, aiohttp.ClientConnectorError)
            raise JudgeCallError(told, transient=True, sent=sent) from error
        if response.status != 200:
            raise answers.error_of(
                response.status, _json(body), {name.lower(): text for name, text in response.headers.items()}
            )
        reply: JudgeReply = answers.reply_of(body)
        return reply

    async def aclose(self) -> None:
        """Close the session of the running event loop; the next request opens another."""
        connection = self._connections.pop(asyncio.get_running_loop(), None)
        if connection is not None:
            await connection.closing.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _key(self) -> str | None:
        return self.api_key or os.environ.get("OPENAI_API_KEY") or None

    async def _connection(self) -> _Connection:
        loop = asyncio.get_running_loop()
        found = self._connections.get(loop)
        if found is None:
            found = self._connections[loop] = self._opened(loop)
            await anext(found.closing)  # a generator that was begun is finalised by the loop
        return found

    def _opened(self, loop: asyncio.AbstractEventLoop) -> _Connection:
        (aiohttp, _), endpoint, key = _load(), self.endpoint, self._key()
        import yarl

        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # `Limits` has the slots
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        authorization = {"Authorization": f"Bearer {key}"} if key else {}
        return _Connection(
            session=session,
            url=yarl.URL(f"{endpoint}/chat/completions"),
            headers={"Content-Type": "application/json", **authorization},
            proxy=_proxy(endpoint),
            closing=_closing(session, self._connections, loop),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Connection:
    """What an event loop needs to ask the endpoint."""

    session: ClientSession
    url: URL
    headers: dict[str, str]
    proxy: str | None
    closing: AsyncGenerator[None, None]


async def _closing(
    session: ClientSession,
    connections: dict[asyncio.AbstractEventLoop, _Connection],
    loop: asyncio.AbstractEventLoop,
) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        connections.pop(loop, None)
        await session.close()


async def _read(response: ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _MAX_BYTES:
            raise JudgeResponseError(f"the endpoint's answer has more than {_MAX_BYTES} bytes")
    return bytes(body)


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        shown = url if parts.username is None else "with a user's name"
        raise ConfigurationError(
            f"a judge's base URL {shown!r} is not allowed: give one such as 'http://127.0.0.1:11434/v1', "
            "without user, query and fragment; a key goes into api_key"
        )
    return url.rstrip("/")


def _proxy(endpoint: str) -> str | None:
    parts = urlsplit(endpoint)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


def _load() -> tuple[Any, Any]:
    """Return what takes longer to load than an event loop may be kept waiting, so it is called at set-up."""
    try:
        import aiohttp
    except ImportError as error:
        raise MissingDependencyError(
            "a judge's default client needs aiohttp: pip install 'spanscore[judge]'"
        ) from error
    from spanscore.evaluators.llm_judge import chat_completion

    return aiohttp, chat_completion
