"""Pictures are made a few at a time, large ones one by one, and their memory is given back."""

from __future__ import annotations

import io
import sys
import threading
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.web.browser import Server
from tests.web.web_parts import BASE, make_hunt

from weakspot.store import Blobs, Run
from weakspot.web import pictures
from weakspot.web.pictures import Pictures


def bomb(mode: str = "RGB", side: int = 7000) -> bytes:
    file = io.BytesIO()
    Image.new(mode, (side, side)).save(file, format="PNG", compress_level=1)
    return file.getvalue()


def memory(pid: int, what: str) -> float:
    """In megabytes, as the kernel counts it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_twelve_bombs_at_once(tmp_path: Path) -> None:
    """12 PNGs of 49 megapixels each asked for together: below 600 MB, and most of it is given back."""
    folder = make_hunt(tmp_path / "hunt")
    content = bomb("RGBA")
    with Run.open(folder) as run:
        digests = [run.blobs.put(content + bytes([number])) for number in range(12)]
        usual = next(iter(run.ledger.trials(BASE, kept=True))).blob
    with Server("view", str(folder)) as server:
        asker = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        for path in ("", "/run/hunt", "/run/hunt/trials", f"/run/hunt/small/{usual}"):  # what is loaded once
            asker.open(f"{server.base}{path}" if path else server.link).read()
        before, sizes = memory(server.process.pid, "VmRSS"), list[int]()

        def ask(digest: str) -> None:
            with asker.open(f"{server.base}/run/hunt/small/{digest}") as answer:
                sizes.append(len(answer.read()))

        threads = [threading.Thread(target=ask, args=(digest,)) for digest in digests]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        peak, after = memory(server.process.pid, "VmHWM"), memory(server.process.pid, "VmRSS")
    print(f"{before:.0f} MB before, {peak:.0f} MB at most, {after:.0f} MB after")
    assert len(sizes) == 12
    assert min(sizes) > 100
    assert peak < 600, (before, peak, after)
    assert after < before + 60, (before, peak, after)


def test_no_more_than_a_few_are_made_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs, now, most = Blobs(tmp_path), [0], [0]
    made, lock = pictures._picture, threading.Lock()

    def slow(content: bytes, longest: int) -> object:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        threading.Event().wait(0.02)
        try:
            return made(content, longest)
        finally:
            with lock:
                now[0] -= 1

    monkeypatch.setattr(pictures, "_picture", slow)
    rng, some = np.random.default_rng(0), list[str]()
    for _ in range(24):
        file = io.BytesIO()
        Image.fromarray(rng.integers(0, 255, (20, 20, 3), dtype=np.uint8)).save(file, format="PNG")
        some.append(blobs.put(file.getvalue()))
    shared = Pictures()
    threads = [threading.Thread(target=shared.get, args=((blobs,), digest, 192)) for digest in some]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 < most[0] <= pictures.AT_ONCE
    assert len(shared._made) == 24


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "1", "I;16"])
def test_every_kind_of_picture_is_made_smaller(mode: str, tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    for side in (40, 1900):
        found = Pictures().get((blobs,), blobs.put(bomb(mode, side)), 192)
        assert found is not None
        with Image.open(io.BytesIO(found.content)) as opened:
            assert max(opened.size) == min(side, 192)


def test_what_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = Blobs(tmp_path)
    monkeypatch.setattr(pictures, "PIXELS", 1000)
    assert Pictures().get((blobs,), blobs.put(bomb("L", 40)), 192) is None
    long = blobs.put("ä".encode() * 150_000)
    found = Pictures().get((blobs,), long, 192)
    assert found is not None
    assert set(found.content.decode()) == {"ä"}
    assert Pictures().get((blobs,), "0" * 64, 192) is None
