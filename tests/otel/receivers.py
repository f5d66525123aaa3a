"""Real OTLP receivers on loopback: gRPC and HTTP, made of opentelemetry-proto."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as rpc


class Receiver:
    """Keeps what arrives, decoded."""

    def __init__(self) -> None:
        self.requests: list[service.ExportTraceServiceRequest] = []
        self.url = ""

    def all_spans(self) -> list[Any]:
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def spans(self) -> dict[str, Any]:
        return {span.name: span for span in self.all_spans()}

    def resource(self) -> dict[str, Any]:
        return decoded(self.requests[0].resource_spans[0].resource.attributes)


def decoded(attributes) -> dict[str, Any]:
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in attributes}


@contextmanager
def grpc_receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Service(rpc.TraceServiceServicer):
        def Export(self, request, context):
            receiver.requests.append(request)
            return service.ExportTraceServiceResponse()

    server = grpc.server(futures.ThreadPoolExecutor(2))
    rpc.add_TraceServiceServicer_to_server(Service(), server)
    receiver.url = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield receiver
    finally:
        server.stop(None).wait()


@contextmanager
def http_receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            assert self.path == "/v1/traces"
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.requests.append(service.ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


RECEIVERS = {"grpc": grpc_receiver, "http/protobuf": http_receiver}
