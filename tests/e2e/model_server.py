"""A chat-completions server on loopback: answers ``ANSWER``, after a round of ``CALLS`` where tools are offered."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = '{"city": "Paris", "population": 2000000}'
CALLS = [("geocode", {"city": "Paris"}), ("census", {"city": "Paris", "year": 2020})]


@contextmanager
def model_server() -> Iterator[str]:
    """Serve while the block runs; give the base URL that clients of OpenAI's API take."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def message(request: dict) -> dict:
    """Return the assistant's next message."""
    if request.get("tools") and not any(one["role"] == "tool" for one in request["messages"]):
        calls = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for n, (name, arguments) in enumerate(CALLS)
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    return {"role": "assistant", "content": ANSWER}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = message(request)
        reason = "tool_calls" if said.get("tool_calls") else "stop"
        body = {"id": "chatcmpl-1", "created": 1, "model": request["model"]}
        if request.get("stream"):
            for n, call in enumerate(said.get("tool_calls", [])):
                call["index"] = n
            choices = (
                [{"index": 0, "delta": said, "finish_reason": None}],
                [{"index": 0, "delta": {}, "finish_reason": reason}],
            )
            chunks = [{**body, "object": "chat.completion.chunk", "choices": one} for one in choices]
            self._send(
                "text/event-stream", "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
            )
            return
        body |= {
            "object": "chat.completion",
            "choices": [{"index": 0, "message": said, "finish_reason": reason}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21},
        }
        self._send("application/json", json.dumps(body))

    def _send(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""
