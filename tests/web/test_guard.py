"""Nobody without the token, no other site, no path but ours: over every route, also those of tomorrow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route
from tests.web.web_parts import BASE, PORT, TOKEN, Caller, caller

from weakspot.core import WeakspotError
from weakspot.report.people.tasks import task_of
from weakspot.store import Run
from weakspot.web.explorer import Explorer
from weakspot.web.labelling import Labelling
from weakspot.web.serve import BODY, Guard, is_loopback, listening

VALUES = {
    "run": "hunt-fly", "name": "web.css", "hypothesis": BASE.id, "index": "0", "digest": "ab" * 32,
    "annotator": "Ann",
}  # fmt: skip
APPS = ("explorer", "labelling")


def app_of(which: str, folder: Path) -> Any:
    if which == "explorer":
        return Explorer(folder.parent).app()
    with Run.read(folder) as run:
        return Labelling(folder, task_of(run)).app()


def routes(app: Any) -> list[tuple[str, str]]:
    """(method, path) of every route; a parameter without an example here fails the test that asks."""
    found = []
    for route in app.routes:
        assert isinstance(route, Route), "mounts and websockets would need tests of their own"
        path = re.sub(r"\{(\w+)(?::\w+)?\}", lambda m: VALUES[m[1]], route.path)
        found += [(method, path) for method in sorted(route.methods or ())]
    return found


@pytest.mark.parametrize("which", APPS)
def test_every_route_wants_token_host_and_origin(which: str, hunt_folder: Path) -> None:
    app = app_of(which, hunt_folder)
    table = routes(app)
    assert len(table) >= 10
    stranger, friend = caller(app), caller(app).open()
    for method, path in table:
        assert stranger(path, method=method).status == 403, path
        assert stranger(f"{path}?token=wrong", method=method).status == 403, path
        assert friend(path, method=method, host="evil.example").status == 403, path
        assert friend(path, method=method, host=f"evil.example:{PORT}").status == 403, path
        assert friend(path, method=method, host="127.0.0.1:1").status == 403, path
        assert friend(path, method=method, origin="http://evil.example").status == 403, path
        assert friend(path, method=method, origin="null").status == 403, path
        got = friend(path, method=method)
        assert got.status in (200, 303, 400, 404, 405, 422), (path, got.status)
        policy = got.header("content-security-policy")
        if path.endswith("/report"):  # one file with all inside: its own script, and no other
            assert "script-src 'sha256-" in policy
            assert "'self'" not in policy
        else:
            assert "script-src 'self'" in policy
            assert "unsafe" not in policy
        assert got.header("x-content-type-options") == "nosniff"
        assert got.header("cache-control")
        if method == "POST":
            assert friend(path, method=method, origin=None).status == 403, path
            assert friend(path, method=method, form=b"x" * (BODY + 1)).status == 413, path
    assert stranger("/no/such/page").status == 403


TRICKS = (
    "/..", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/static/../guard.py", "/static/..%2fguard.py",
    "/static/%2e%2e%2f%2e%2e%2fguard.py", "/static//etc/passwd", "/static/%2fetc%2fpasswd",
    "/static/guard.py",
    "/run/..", "/run/%2e%2e", "/run/..%2fruns", "/run/../runs/hunt-fly/run.yaml", "/run/hunt-fly/../../x",
    "/run/hunt-fly/picture/..", "/run/hunt-fly/picture/%2e%2e%2frun.yaml",
    "/run/hunt-fly/picture//etc/passwd",
    "/run/hunt-fly/small/" + "0" * 64, "/run/hunt-fly/picture/" + "A" * 64, "/run/hunt-fly/trial/x/0",
    f"/run/hunt-fly/trial/{BASE.id}/99999999999999999999", f"/run/hunt-fly/trial/{BASE.id}/-1",
    "/run/hunt-fly%00", "/as/..", "/as/%2e%2e", "/as/a%2fb", "/as/%00",
    "/picture/%2fetc%2fpasswd", "/\\etc\\passwd",
)  # fmt: skip


@pytest.mark.parametrize("which", APPS)
def test_path_tricks_find_nothing(which: str, hunt_folder: Path) -> None:
    (hunt_folder.parent / "secret.txt").write_text("secret")
    friend = caller(app_of(which, hunt_folder)).open()
    for path in TRICKS:
        assert friend(path).status == 404, path


def test_a_link_out_of_the_folder_is_no_run(hunt_folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside" / "run"
    outside.parent.mkdir()
    hunt_folder.rename(outside)
    (tmp_path / "runs" / "link").symlink_to(outside)
    friend = caller(Explorer(tmp_path / "runs").app()).open()
    assert friend("/run/link").status == 404


def test_the_token_becomes_a_cookie(hunt_folder: Path) -> None:
    ask = caller(Explorer(hunt_folder.parent).app())
    got = ask(f"/run/hunt-fly?order=rate&token={TOKEN}")
    cookie = got.header("set-cookie").lower()
    assert got.status == 200
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert TOKEN not in got.text
    assert 'url=/run/hunt-fly?order=rate"' in got.text
    assert ask.open()("/run/hunt-fly").status == 200
    assert ask(f"//evil.example/?token={TOKEN}").text.count("url=/evil.example/") == 1
    assert ask(f"/?token={TOKEN}", method="POST", origin=None).status == 403


def test_a_cookie_of_another_server_does_not_help(hunt_folder: Path) -> None:
    app = Explorer(hunt_folder.parent).app()
    one, other = caller(app).open(), caller(app)
    other.cookie = one.cookie
    assert other("/").status == 403


def test_pages_of_other_sites_may_not_embed_what_we_serve(hunt_folder: Path) -> None:
    friend = caller(Explorer(hunt_folder.parent).app()).open()
    foreign = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert friend("/static/web.css", headers=foreign).status == 403
    assert friend("/run/hunt-fly", headers={"sec-fetch-site": "same-origin"}).status == 200


def test_names_beyond_loopback_only_when_told(hunt_folder: Path) -> None:
    app = Explorer(hunt_folder.parent).app()
    open_ = Caller(Guard(app, token=TOKEN, port=PORT, names=["lab.example"], anywhere=True))
    assert open_(f"/?token={TOKEN}", host=f"192.0.2.7:{PORT}").status == 200
    assert open_(f"/?token={TOKEN}", host=f"lab.example:{PORT}").status == 200
    assert open_(f"/?token={TOKEN}", host=f"evil.example:{PORT}").status == 403
    assert caller(app)(f"/?token={TOKEN}", host=f"192.0.2.7:{PORT}").status == 403
    assert [is_loopback(h) for h in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "lab.example")] == [
        True
    ] * 3 + [False] * 2


def test_a_taken_port_is_said() -> None:
    with listening("127.0.0.1", 0) as taken, pytest.raises(WeakspotError, match="cannot listen on"):
        listening("127.0.0.1", taken.getsockname()[1])
