"""Serve an app to this machine: a port, a secret link, and nothing on the screen but what matters."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Callable
from typing import Any, Final

from starlette.types import ASGIApp

from weakspot.core import WeakspotError
from weakspot.web.guard import Guard

#: Tried first; if it is taken, any other.
PORT: Final = 8642
#: A token has so many bytes from the system's randomness.
TOKEN: Final = 24


def serve(
    app: ASGIApp,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    path: str = "/",
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until Ctrl-C.

    Args:
        app: What is served; it is guarded here.
        host: What to listen on. Anything but loopback is for who knows what they do: there is no encryption.
        port: 0 for any; None for the usual one or, if that is taken, any.
        path: Of the page that the link opens.
        ready: Told the link, once it works.
    """
    import uvicorn

    bound = listening(host, port)
    own = int(bound.getsockname()[1])
    token = secrets.token_urlsafe(TOKEN)
    outside = not is_loopback(host)
    guarded = Guard(app, token=token, port=own, names=_names(host) if outside else (), anywhere=outside)
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104
    link = f"http://{shown}:{own}{path}?token={token}"

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[Any] | None = None) -> None:
            await super().startup(sockets)
            if ready is not None and self.started:
                ready(link)

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
    """Whether only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
                f"{host[:80]} port {wanted} cannot be listened on: {error.strerror or error}",
                fix="choose another --port, or leave it out",
            ) from error
    raise AssertionError("the last port was tried")


def _names(host: str) -> list[str]:
    return [host, f"[{host}]", socket.gethostname(), socket.getfqdn()]
