"""Serve an app to this machine, to nobody but who was given the link: a port, a token, and a guard.

A page on loopback can be reached by every page that the same browser has open, and by every user of the
machine. So every request passes one place: the Host must be ours (a name that was rebound to 127.0.0.1 is
not), the Origin, where there is one, must be the same, and the caller must know a random token. It is in the
link that the command prints; opening the link exchanges it for a cookie that other sites cannot send and
scripts cannot read.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weakspot.core import WeakspotError

#: Tried first; if it is taken, any other.
PORT: Final = 8642
#: A token has so many bytes from the system's randomness.
TOKEN: Final = 24
#: Bytes of a request's body.
BODY: Final = 64 * 1024
#: Bytes of a path with its query.
TARGET: Final = 8 * 1024

#: Scripts, styles, pictures and forms: our own, as files; nothing inline, nothing from elsewhere.
POLICY: Final = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


#: In the scope of a request: who asks, where the link was one person's.
PERSON: Final = "weakspot.person"


def serve(
    app: ASGIApp,
    *,
    host: str,
    port: int | None,
    ready: Callable[[str, Mapping[str, str]], None],
    people: Iterable[str] = (),
) -> None:
    """Guard an app and serve it until Ctrl-C; `ready` is told the link, once it works, and those of `people`.

    To listen on anything but loopback is for who knows what they do: there is no encryption. Port 0 is any;
    None is the usual one or, if that is taken, any.
    """
    import uvicorn

    bound = listening(host, port)
    own = int(bound.getsockname()[1])
    token = secrets.token_urlsafe(TOKEN)
    outside = not is_loopback(host)
    names = (host, f"[{host}]", socket.gethostname(), socket.getfqdn()) if outside else ()
    own_tokens = {secrets.token_urlsafe(TOKEN): person for person in people}
    guarded = Guard(app, token=token, port=own, names=names, anywhere=outside, people=own_tokens)
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104
    link = f"http://{shown}:{own}/?token="

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[Any] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready(f"{link}{token}", {person: f"{link}{one}" for one, person in own_tokens.items()})

    config = uvicorn.Config(
        guarded,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    with bound:
        Server(config).run(sockets=[bound])


def is_loopback(host: str) -> bool:
    found = _address(host)
    return host == "localhost" or (found is not None and found.is_loopback)


def listening(host: str, port: int | None) -> socket.socket:
    """A socket that listens; see `serve`."""
    for wanted in (PORT, 0) if port is None else (port,):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, wanted))
            bound.listen(64)
            return bound
        except OSError as error:
            bound.close()
            if wanted == PORT and port is None:
                continue
            raise WeakspotError(
                f"cannot listen on {host[:80]} port {wanted}: {error.strerror or error}",
                fix="choose another --port, or leave it out",
            ) from error
    raise AssertionError("the last port was tried")


class Guard:
    """ASGI middleware: lets through what comes from a page of ours, in a browser that was given the token.

    The port is in the Host, and in the cookie's name: browsers share cookies among ports. `names` are this
    server's besides those of loopback. If it listens `anywhere`, addresses in figures are ours too: a name
    can be rebound to another address, an address cannot. `people` have a token of their own each, and the app
    is told who asks with it.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        port: int,
        names: Iterable[str] = (),
        anywhere: bool = False,
        people: Mapping[str, str] | None = None,
    ) -> None:
        self.app, self.token, self.port, self.anywhere = app, token, port, anywhere
        self.names = {"127.0.0.1", "localhost", "[::1]", *(name.lower() for name in names)}
        self.cookie = f"weakspot-{port}"
        # The session that each token is exchanged for, and whose each session is; "" is anybody's.
        self._sessions = {one: secrets.token_urlsafe(32) for one in (token, *(people or {}))}
        self._people = {self._sessions[one]: name for one, name in {token: "", **(people or {})}.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = self._refused(scope)
        if answer is None and scope["method"] not in ("GET", "HEAD"):
            body = await _body(receive)
            answer = None if body is not None else _no(413, "The request is too large.")
            receive = _again(body or b"")
        scope[PERSON] = self._person(scope) or ""
        await (answer or self.app)(scope, receive, _hardened(send))

    def _person(self, scope: Scope) -> str | None:
        """Whose session a request has; None if it has none of ours."""
        known = cookie_parser(_headers(scope).get("cookie", "")).get(self.cookie, "")
        return next((name for session, name in self._people.items() if _same(known, session)), None)

    def _refused(self, scope: Scope) -> Response | None:
        headers = _headers(scope)
        host = headers.get("host", "")
        if not self._ours(host):
            return _no(403, "This page is served under another name.")
        unsafe = scope["method"] not in ("GET", "HEAD")
        origin = headers.get("origin")
        if (origin is None and unsafe) or (origin is not None and origin != f"http://{host}"):
            return _no(403, "The request comes from another page.")
        if headers.get("sec-fetch-site") == "cross-site" and (
            unsafe or headers.get("sec-fetch-mode") != "navigate"
        ):
            return _no(403, "The request comes from another page.")
        query = scope["query_string"].decode("latin-1")
        if len(scope["raw_path"] or b"") + len(query) > TARGET:
            return _no(414, "The address is too long.")
        given = dict(parse_qsl(query)).get("token")
        if given is not None and scope["method"] == "GET":
            for token, session in self._sessions.items():
                if _same(given, token):
                    return self._welcome(scope["path"], query, session)
        if self._person(scope) is None:
            return _no(403, "Open the link that the command printed: it holds the key to these pages.")
        return None

    def _welcome(self, path: str, query: str, session: str) -> Response:
        """Set the cookie and go on to the same address without the token.

        By a page rather than by a redirect: a cookie that is only for our own site does not travel along a
        redirect that began elsewhere, such as a link in a chat.
        """
        rest = urlencode([(k, v) for k, v in parse_qsl(query) if k != "token"])
        where = "/" + quote(path.lstrip("/\\")) + (f"?{rest}" if rest else "")
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>weakspot</title>'
            '<link rel="icon" href="/static/icon.svg">'
            f'<meta http-equiv="refresh" content="0; url={escape(where)}">'
            f'<a href="{escape(where)}">Go on</a></html>'
        )
        answer = HTMLResponse(page, headers={"cache-control": "no-store"})
        answer.set_cookie(self.cookie, session, httponly=True, samesite="strict", path="/")
        return answer

    def _ours(self, host: str) -> bool:
        name, _, port = host.lower().rpartition(":")
        if port != str(self.port):
            return self.port == 80 and host.lower() in self.names
        return name in self.names or (self.anywhere and _address(name.strip("[]")) is not None)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _headers(scope: Scope) -> dict[str, str]:
    """The headers; of one that is there twice nothing is believed."""
    found: dict[str, str] = {}
    for key, value in scope["headers"]:
        name = key.decode("latin-1").lower()
        found[name] = "" if name in found and name in ("host", "origin") else value.decode("latin-1")
    return found


def _no(status: int, why: str) -> Response:
    return PlainTextResponse(why + "\n", status, headers={"cache-control": "no-store"})


async def _body(receive: Receive) -> bytes | None:
    """The body; None if it is larger than allowed or the caller went away."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += bytes(message.get("body", b""))
        if len(body) > BODY:
            return None
        if not message.get("more_body", False):
            return body


def _again(body: bytes) -> Receive:
    """A `receive` that has this body."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _hardened(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                there.setdefault(name, value)
        await send(message)

    return sent
