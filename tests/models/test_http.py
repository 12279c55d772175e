"""`http:` against servers on this machine that answer in every form, and misbehave in every way."""

from __future__ import annotations

import base64
import email
import io
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from email.policy import HTTP
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from weakspot.core import MODELS, SOURCES, Case, Classifier, Generator, Hypothesis, Status, WeakspotError
from weakspot.models.chat import calls as chat_faults
from weakspot.models.http.endpoint import found, placed
from weakspot.sources.generate import generator
from weakspot.testing import check_generator, check_target

LABELS = ("red", "green", "blue")
Reply = tuple[int, str, bytes, dict[str, str]]
Plan = Callable[[bytes, dict[str, str]], Any]


class Server:
    """Answers as a plan says: with what it returns as JSON, or with a whole reply."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.seen, self.now, self.most = plan, [], 0, 0  # type: ignore[var-annotated]
        lock, outer = threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with lock:
                    outer.now += 1
                    outer.most = max(outer.most, outer.now)
                    outer.seen.append((body, dict(self.headers)))
                told = outer.plan(body, dict(self.headers))
                with lock:
                    outer.now -= 1
                whole = isinstance(told, tuple)
                status, kind, content, more = (
                    told if whole else (200, "application/json", json.dumps(told).encode(), {})
                )
                self.send_response(status)
                for key, value in {"Content-Type": kind, "Content-Length": str(len(content)), **more}.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # the client gave up
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Plan], Server]]:
    monkeypatch.setattr(chat_faults, "FIRST_PAUSE", 0.001)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    running: list[Server] = []

    def start(plan: Plan) -> Server:
        running.append(Server(plan))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.txt"
    path.write_text("\n".join(LABELS))
    return path


def case(colour: int, index: int = 0) -> Case:
    image = np.zeros((4, 6, 3), np.uint8)
    image[..., colour] = 200 + index
    return Case(Hypothesis("a square."), index, 0, image, LABELS[colour])


CASES = [case(i % 3, i) for i in range(7)]


def picture(content: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(content.rpartition(",")[2]))))


def scores(image: np.ndarray) -> list[float]:
    """Probabilities by the mean of each channel: what the model behind the address does."""
    means = image.reshape(-1, 3).mean(0) / 40
    return list(np.exp(means) / np.exp(means).sum())


def from_json(body: bytes) -> list[float]:
    return scores(picture(json.loads(body)["image"]))


FORMS: dict[str, tuple[Any, str]] = {
    "a row": (lambda p: {"predictions": [p]}, "answer=predictions.0"),
    "logits": (lambda p: [float(np.log(x) + 3) for x in p], ""),
    "a mapping": (lambda p: {"out": dict(zip(LABELS[::-1], p[::-1], strict=True))}, "answer=out"),
    "rows with names": (
        lambda p: [{"label": n, "score": s} for s, n in sorted(zip(p, LABELS, strict=True))[::-1]],
        "",
    ),
    "other names": (
        lambda p: [{"class": {"name": n}, "p": s} for n, s in zip(LABELS, p, strict=True)],
        "name=class.name&score=p",
    ),
    "a label": (lambda p: {"label": LABELS[int(np.argmax(p))]}, "answer=label"),
    "a number": (lambda p: {"class": int(np.argmax(p))}, "answer=class"),
    "the best alone": (lambda p: {LABELS[int(np.argmax(p))]: max(p)}, ""),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_answer(form: str, serve: Any, labels: Path) -> None:
    tell, options = FORMS[form]
    server = serve(lambda body, _: tell(from_json(body)))
    model = MODELS.load(f"{server.url}/predict?labels={labels}&{options}".rstrip("&"))
    assert isinstance(model, Classifier)
    outputs = check_target(model, CASES)
    assert [o.answer for o in outputs] == [c.expected for c in CASES]
    if form not in ("a label", "a number", "the best alone"):
        for c, output in zip(CASES, outputs, strict=True):
            np.testing.assert_allclose(output.scores.values, scores(c.input), rtol=1e-4)  # type: ignore[union-attr]
    else:
        assert all(o.scores is None for o in outputs)


def test_batches_pixels_and_deep_fields(serve: Any, labels: Path) -> None:
    def plan(body: bytes, _: Any) -> Any:
        rows = json.loads(body)["inputs"][0]["data"]
        return {"outputs": [scores(np.array(row, np.uint8)) for row in rows]}

    server = serve(plan)
    name = f"{server.url}/v2?labels={labels}&batch=3&encoding=pixels&image=inputs.0.data&answer=outputs"
    assert [o.answer for o in check_target(MODELS.load(name), CASES)] == [c.expected for c in CASES]
    assert len(server.seen) == 6  # seven pictures, three at once, asked forwards and backwards


def test_a_form_and_a_file_with_a_key(
    serve: Any, labels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(body: bytes, headers: dict[str, str]) -> Any:
        if headers.get("Authorization") != "Bearer swordfish":
            return 401, "application/json", b'{"error": "the key swordfish is wrong"}', {}
        message = email.message_from_bytes(
            f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode() + body, policy=HTTP
        )
        parts = {p.get_param("name", header="content-disposition"): p for p in message.iter_parts()}
        assert parts["model"].get_content().strip() == "colours"
        assert parts["file"].get_content_type() == "image/png"
        return scores(np.asarray(Image.open(io.BytesIO(parts["file"].get_content()))))

    server = serve(plan)
    file = tmp_path / "endpoint.yaml"
    file.write_text(
        f"url: {server.url}/predict\nsend: multipart\nimage: file\nfields: {{model: colours}}\n"
        'headers: {Authorization: "Bearer ${COLOURS_KEY}"}\nlabels: labels.txt\n'
    )
    with pytest.raises(WeakspotError, match="COLOURS_KEY is not set"):
        MODELS.load(f"http:{file}")
    monkeypatch.setenv("COLOURS_KEY", "swordfish")
    model = MODELS.load(f"http:{file}?concurrency=2")
    assert [o.answer for o in check_target(model, CASES)] == [c.expected for c in CASES]
    assert server.most <= 2
    monkeypatch.setenv("COLOURS_KEY", "sword")
    [output] = MODELS.load(f"http:{file}").answer(CASES[:1])
    assert output.status is Status.ERROR
    assert "HTTP 401" in output.detail
    assert "sword" not in output.detail.replace("***fish", "")


def test_faults_that_pass_are_tried_again(serve: Any, labels: Path) -> None:
    plans: list[Any] = [
        (503, "text/plain", b"busy", {"Retry-After": "0.001"}),
        (429, "text/html", b"<html>slow down</html>", {}),
        (500, "text/plain", b"", {}),
    ]
    server = serve(lambda body, _: plans.pop() if plans else from_json(body))
    [output] = MODELS.load(f"{server.url}/?labels={labels}").answer(CASES[:1])
    assert output.answer == "red"
    assert len(server.seen) == 4
    server = serve(lambda body, _: (503, "text/plain", b"busy", {}))
    [output] = MODELS.load(f"{server.url}/?labels={labels}&attempts=2").answer(CASES[:1])
    assert output.status is Status.ERROR
    assert "HTTP 503: busy (2 attempts)" in output.detail
    assert len(server.seen) == 2


BAD: dict[str, tuple[Any, str]] = {
    "html": ((200, "text/html", b"<!doctype html><title>Log in</title>", {}), "answers with HTML, not JSON"),
    "html error": ((404, "text/html", b"<html>nothing here</html>", {}), "HTTP 404: a page of HTML"),
    "redirection": (
        (302, "text/html", b"", {"Location": "http://elsewhere/"}),
        "points elsewhere: http://else",
    ),
    "cut": ((200, "application/json", b'{"predictions": [0.1, 0', {}), "not JSON"),
    "empty": ((200, "application/json", b"", {}), "answers with nothing, not JSON; check the address"),
    "elsewhere": ({"result": [1, 0, 0]}, "no labels or numbers but a mapping with result"),
    "two numbers": ([0.5, 0.5], r"shape \(1, 2\) for 3 labels"),
    "nan": ((200, "application/json", b"[NaN, 0, 1]", {}), "not finite"),
    "another label": ({"grün": 1.0}, "'grün' is not one of the 3 labels"),
    "a number too far": (7, "label number 7 of 3"),
    "yes": (True, "yes or no"),
    "terminal": ("\x1b[31mred", "is not one of"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_answer_is_an_error_in_one_line(what: str, serve: Any, labels: Path) -> None:
    reply, said = BAD[what]
    server = serve(lambda body, _: reply)
    [output] = MODELS.load(f"{server.url}/p?labels={labels}").answer(CASES[:1])
    assert (output.status, output.answer) == (Status.ERROR, None)
    assert re.search(said, output.detail), output.detail
    assert "\n" not in output.detail
    assert output.detail.isprintable()


def test_nobody_there_and_too_slow(serve: Any, labels: Path) -> None:
    server = serve(lambda body, _: time.sleep(0.4))
    [output] = MODELS.load(f"{server.url}/?labels={labels}&timeout=0.05&attempts=1").answer(CASES[:1])
    assert "nothing came within 0.05 s" in output.detail
    [output] = MODELS.load(f"http://127.0.0.1:9/?labels={labels}&attempts=1").answer(CASES[:1])
    assert output.status is Status.ERROR
    assert "refused" in output.detail


def test_requests_overlap(serve: Any, labels: Path) -> None:
    together = threading.Barrier(4, timeout=20)

    def plan(body: bytes, _: Any) -> Any:
        together.wait()  # passes only when four are under way
        return from_json(body)

    server = serve(plan)
    outputs = MODELS.load(f"{server.url}/?labels={labels}&concurrency=4").answer(
        [case(i % 3) for i in range(8)]
    )
    assert [o.answer for o in outputs] == [LABELS[i % 3] for i in range(8)]
    assert server.most == 4


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("http://127.0.0.1:9/p", "its labels must be given"),
        ("http://127.0.0.1:9/p?labels=L&send=xml", "send cannot be 'xml'"),
        ("http://127.0.0.1:9/p?labels=L&encoding=jpeg", "encoding cannot be"),
        ("http://127.0.0.1:9/p?labels=L&send=multipart&batch=4", "a form holds one picture"),
        ("http://127.0.0.1:9/p?labels=L&timeout=soon", "timeout cannot be 'soon'"),
        ("http://127.0.0.1:9/p?labels=L&outputs=percent", "outputs cannot be"),
        ("http://127.0.0.1:9/p?labels=L&seed=seed", "read as a classifier"),
        ("http://me:secret@127.0.0.1:9/p?labels=L", "a key must not be in a name"),
        ("http://?labels=L", "is not an address"),
        ("http://[::1", "is not an address"),
        ("http:gone.yaml", "gone.yaml cannot be read"),
        ("http:broken.yaml", "is not YAML"),
        ("http:list.yaml", "does not describe an endpoint"),
        ("http:strange.yaml", "no place for 'adress'"),
        ("http:number.yaml", "batch in .* cannot be 'many'"),
        ("http://127.0.0.1:9/v1/images/generations?labels=L", "makes pictures"),
        ("https://api.openai.com/v1/images/generations?model=m", "OPENAI_API_KEY is not set"),
    ],
)
def test_wrong_names_are_explained(
    name: str, what: str, labels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Path("broken.yaml").write_text("a: [")
    Path("list.yaml").write_text("[1]")
    Path("strange.yaml").write_text("adress: x")
    Path("number.yaml").write_text("url: http://x\nbatch: many")
    with pytest.raises(WeakspotError, match=what) as error:
        MODELS.load(name.replace("labels=L", f"labels={labels}"))
    assert error.value.fix
    assert "secret" not in str(error.value)


def test_paths_into_json() -> None:
    assert placed({}, "a.1.b", 3) == {"a": [{}, {"b": 3}]}
    assert placed({"a": {"c": 1}}, "a.b", 2) == {"a": {"c": 1, "b": 2}}
    assert placed({}, "", 4) == 4
    assert found({"a": [{"b": 5}]}, "a.0.b") == 5
    with pytest.raises(WeakspotError, match=r"no 'c'.*it has b"):
        found({"a": [{"b": 5}]}, "a.0.c")


# -- pictures -------------------------------------------------------------------------------------------


def drawn(body: bytes, _: Any = None) -> Any:
    asked = json.loads(body)
    seed = asked.get("seed", len(body) + time.monotonic_ns() % 1000003)
    noise = np.random.default_rng([seed, len(asked["prompt"])]).integers(0, 256, (8, 8, 3), np.uint8)
    made = io.BytesIO()
    Image.fromarray(noise).save(made, "PNG")
    return {"created": 0, "data": [{"b64_json": base64.b64encode(made.getvalue()).decode()}]}


def test_a_seeded_images_endpoint_keeps_the_contract(serve: Any) -> None:
    server = serve(drawn)
    model = MODELS.load(f"{server.url}/v1/images/generations?model=tiny&size=8x8&seed=seed")
    assert isinstance(model, Generator)
    assert check_generator(model)[0].shape == (8, 8, 3)
    asked = json.loads(server.seen[0][0])
    assert (asked["model"], asked["size"], asked["n"]) == ("tiny", "8x8", 1)
    assert 0 <= asked["seed"] < 2**31
    assert "Authorization" not in server.seen[0][1]  # a key is for its provider alone


def test_without_a_seed_a_cache_keeps_it(serve: Any, tmp_path: Path) -> None:
    server = serve(drawn)
    name = f"{server.url}/v1/images/generations?cache={tmp_path / 'kept'}"
    check_generator(MODELS.load(name))
    assert len(server.seen) == 4  # two prompts with two seeds, each paid once
    source = SOURCES.load(name, label="fly")
    cases = source.draw(Hypothesis("a fly."), [0, 1], seed=3)
    assert [c.expected for c in cases] == ["fly", "fly"]
    assert np.array_equal(source.draw(Hypothesis("a fly."), [1], seed=3)[0].input, cases[1].input)
    with pytest.raises(WeakspotError, match="does not know what its pictures show"):
        SOURCES.load(name)
    with pytest.raises(WeakspotError, match="its labels must be given"):
        SOURCES.load(f"{server.url}/p", label="fly")


def test_one_that_draws_anew_each_time_is_no_source(serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    name = f"{serve(drawn).url}/v1/images/generations?model=tiny"
    with caplog.at_level(logging.INFO, "weakspot"):
        assert not MODELS.load(name).repeats  # the doctor may look at it
    assert "tiny · drawn again each time" in caplog.text
    for load in (partial(SOURCES.load, name, label="fly"), partial(generator, None, name)):
        with pytest.raises(WeakspotError, match="draws a different picture each time") as error:
            load()
        assert "seed=NAME" in error.value.fix
        assert "cache=FOLDER" in error.value.fix


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ((200, "text/html", b"<html>log in</html>", {}), "answers with HTML"),
        ({"data": [{"url": "http://elsewhere/1.png"}]}, "no 'b64_json'"),
        ({"data": [{"b64_json": "bm8gcGljdHVyZQ=="}]}, "did not answer with a picture"),
        ({"data": [{"b64_json": "!"}]}, "did not answer with a picture"),
        ((400, "application/json", b'{"error": {"message": "content policy"}}', {}), "content policy"),
    ],
)
def test_what_is_no_picture_is_said(reply: Any, said: str, serve: Any) -> None:
    server = serve(lambda body, _: reply)
    with pytest.raises(WeakspotError, match=said):
        MODELS.load(f"{server.url}/v1/images/generations").generate(["a fly"], [1])
