"""Language models on loopback, for tests: a real server, whose answer is a function of the question."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Served:
    """A server that speaks OpenAI's chat completions; `prompts` are what it was asked."""

    name: str = ""
    prompts: list[str] = field(default_factory=list)


@contextmanager
def llm(answer: Callable[[str], str | None], *, options: str = "") -> Iterator[Served]:
    """A model whose name can be given anywhere; where the answer is None the server says 500."""
    served = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            content = body["messages"][-1]["content"]
            prompt = content if isinstance(content, str) else content[0]["text"]
            served.prompts.append(prompt)
            text = answer(prompt)
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            usage = {"prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 42}
            reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
            reply |= {"choices": [choice], "usage": usage}
            data = json.dumps({"error": {"message": "out of order"}} if text is None else reply).encode()
            self.send_response(500 if text is None else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    served.name = (
        f"chat:openai-api/local/m?base_url=http://127.0.0.1:{server.server_port}/v1&attempts=1{options}"
    )
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
