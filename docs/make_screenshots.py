"""Make the screenshots of the pages: `make screenshots`. Needs Chromium and playwright; takes some minutes.

Besides the pictures that the docs' pages show there is a sheet of each page's first screen (docs/screens.md):
1440 pixels wide in the light and in the dark, then 390 pixels wide in both.

Runs of the drawn world are made first, in a folder that is kept if it is named: one of each study, a table,
two hunts that differ in the model, a map that waits for people, and pictures drawn for pairs of prompts.
`--only reports` makes the pictures of the reports alone.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WEAKSPOT = str(Path(sys.executable).with_name("weakspot"))
IMAGES = Path(__file__).resolve().parent / "img"
#: Pictures that also places show which know no WebP.
PNGS = ("report",)
PAIRS = [
    (f"a realistic photograph of a {label}. {one}", f"a realistic photograph of a {label}. {other}")
    for label, one, other in (
        ("crab", "it is on a red cushion.", "it is on a plate."),
        ("fly", "it is on a yellow flower.", "it is on a leaf."),
        ("cat", "the background is snow.", "the background is a forest."),
        ("dog", "there are two of them.", "it is large."),
    )
]


#: What is asked of weakspot for the runs that are shown, by their folder.
RUNS = {
    "table": "hunt world:predictions --seed 7",
    "fly-seed-7": "hunt world:classifier --label fly --seed 7 --budget images=12000",
    "fly-vit": "hunt world:classifier-vit-1 --label fly --seed 7 --budget images=6000",
    "map": "map world:classifier --images world:600 --budget images=1000 --seed 7",
    "mine": "mine world:encoder --reference world:scenes --corpus world?texts=300 --budget calls=8000 "
    "--seed 7",
    "ask": "ask world:guide --benchmark world:questions --contrast --seed 7",
    "rare": "rare world:classifier --label crab --budget images=4000 --seed 7 --words",
    "repair": "repair map --modes 1 --epochs 4 --draws 3000",
    "pictures": "map world:renderer --task generator --space prompt-world --search exhaustive "
    "--budget images=60 --seed 7 --judge people?folder=ratings",
}
#: What a rare failure is looked for under: pictures in which little is strange.
USUAL = "it is upright. it is behind nothing. it is fully visible. it is day. the weather is clear."


def make_runs(runs: Path) -> None:
    """The runs that are shown; those that are there are used again."""
    runs.mkdir(parents=True, exist_ok=True)
    for name, words in RUNS.items():
        if not (runs / name).exists():
            command = [WEAKSPOT, *words.split(), *([USUAL] if name == "rare" else []), "--out", name]
            done = subprocess.run(command, check=False, capture_output=True, cwd=runs)  # noqa: S603
            waits = name == "pictures"  # it stops for people's ratings
            if done.returncode not in (0, 3) and not waits:
                raise SystemExit(done.stderr.decode())
    if not (runs / "prompts").exists():
        from weakspot.core import MODELS, SOURCES
        from weakspot.store import Run, RunConfig
        from weakspot.studies.mine.downstream import EncoderMatcher, downstream

        config = RunConfig(study="mine", subject="prompts", settings={"target": "world:encoder", "seed": 1})
        with Run.create(config, folder=runs / "prompts") as run:
            where = run.folder / "downstream"
            matcher = EncoderMatcher(MODELS.load("world:encoder"))
            downstream(PAIRS, SOURCES.load("world:renderer"), matcher, folder=where)
            run.ledger.set_fact("state", "finished")


@contextmanager
def served(*arguments: str, cwd: Path) -> Iterator[str]:
    """The link of a command that serves pages."""
    command = [WEAKSPOT, *arguments, "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=cwd)  # noqa: S603
    try:
        yield server.stdout.readline().split()[-1] if server.stdout is not None else ""
    finally:
        server.terminate()
        server.wait()


def shoot(page: Any, name: str, out: Path) -> None:
    """Keep what the page looks like."""
    from PIL import Image

    page.wait_for_load_state("networkidle")
    page.evaluate("() => Promise.all([...document.images].map((i) => i.loading === 'lazy' || i.decode()))")
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    path = out / (f"{name}.png" if name in PNGS else f"{name}.webp")
    if name in PNGS:
        image.quantize(256, method=Image.Quantize.MEDIANCUT).save(path, optimize=True)
    else:
        image.save(path, quality=88, method=6)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def explore(browser: Any, runs: Path, out: Path) -> None:
    """The explorer's pages, light and dark, wide and narrow."""
    with served("view", runs.name, cwd=runs.parent) as link:
        base = link.partition("/?")[0]
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(link)
        page.wait_for_url(f"{base}/")
        shoot(page, "view-runs", out)
        page.goto(f"{base}/run/fly-seed-7")
        shoot(page, "view-run", out)
        finding = page.locator(".glance tbody a").first.get_attribute("href")
        page.goto(base + finding)
        shoot(page, "view-trials", out)
        page.locator(".tile").first.click()
        shoot(page, "view-trial", out)
        page.goto(f"{base}/run/ask/trials?slice=set%3Dbenign&verdict=failed")
        shoot(page, "view-slices", out)
        page.goto(f"{base}/compare?a=fly-seed-7&b=fly-vit")
        page.locator("#rates").scroll_into_view_if_needed()
        page.mouse.wheel(0, 500)
        shoot(page, "view-compare", out)
        page.goto(f"{base}/run/fly-seed-7/try")
        page.get_by_label("Words to add").fill("it is on a red flower.")
        page.get_by_role("button", name="Draw and measure").click()
        page.get_by_text("See the").wait_for(timeout=120_000)
        shoot(page, "view-try", out)
        for name, width, height, scheme in (("narrow", 360, 740, "light"), ("dark", 1280, 860, "dark")):
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)
            page.goto(base + finding)
            shoot(page, f"view-trials-{name}", out)
        page.close()


#: Reports: of which runs, what the picture is called, how tall it is, in which light, and what is at its top.
REPORTS = (
    (("table",), "table", 1000, "light", "header"),
    (("fly-seed-7",), "report", 1640, "light", "header"),
    (("map",), "report-map", 1000, "dark", "header"),
    (("mine",), "report-mine", 1000, "light", "header"),
    (("repair",), "report-repair", 1000, "light", "header"),
    (("ask",), "report-ask", 1000, "light", "header"),
    (("rare",), "report-rare", 1000, "light", "header"),
    (("fly-seed-7", "fly-vit"), "report-compared", 1000, "light", "section"),
)


#: Pages of which there is a sheet: its name, the command and what it serves, the address on the page.
SHEETS = (
    ("runs", "view .", "/?all=1"),
    ("run", "view .", "/run/fly-seed-7"),
    ("run-rare", "view .", "/run/rare"),
    ("trials", "view .", "/run/fly-seed-7/trials"),
    ("trials-ask", "view .", "/run/ask/trials?slice=set%3Dbenign&verdict=failed"),
    ("trial", "view .", "/run/fly-seed-7/trials>.tile"),
    ("compare", "view .", "/compare?a=fly-seed-7&b=fly-vit"),
    ("try", "view .", "/run/fly-seed-7/try"),
    ("report-hunt", "view .", "/run/fly-seed-7/report"),
    ("report-map", "view .", "/run/map/report"),
    ("report-mine", "view .", "/run/mine/report"),
    ("report-ask", "view .", "/run/ask/report"),
    ("report-rare", "view .", "/run/rare/report"),
    ("report-table", "view .", "/run/table/report"),
    ("label-start", "label prompts", "/"),
    ("label-pairs", "label prompts", "/as/Ann"),
    ("label-refusals", "label ask", "/as/Ann"),
    ("label-images", "label fly-seed-7", "/as/Ann"),
    ("label-modes", "label map", "/as/Ann"),
    ("label-ratings", "label pictures", "/as/Ann"),
)
#: Wide or narrow, in which light; all are as tall in the sheet.
WAYS = ((1440, 900, "light"), (1440, 900, "dark"), (390, 844, "light"), (390, 844, "dark"))
TALL, GAP = 450, 8


def sheets(browser: Any, runs: Path, out: Path) -> None:
    """The first screen of each page, four times beside one another."""
    for command in dict.fromkeys(command for _, command, _ in SHEETS):
        with served(*command.split(), cwd=runs) as link:
            shots: dict[str, list[Any]] = {}
            for wide, tall, scheme in WAYS:
                page = browser.new_page(viewport={"width": wide, "height": tall}, color_scheme=scheme)
                page.goto(link)
                page.wait_for_url(lambda url: "token=" not in url)
                for name, of, path in SHEETS:
                    if of == command:
                        shots.setdefault(name, []).append(first_screen(page, link, path))
                page.close()
        for name, some in shots.items():
            keep_sheet(some, out / f"screen-{name}.webp")


def first_screen(page: Any, link: str, path: str) -> Any:
    """What is seen of a page at first; ">" leads on by a click."""
    from PIL import Image

    address, _, click = path.partition(">")
    page.goto(link.partition("/?")[0] + address)
    if click:
        page.locator(click).first.click()
    page.wait_for_load_state("networkidle")
    page.evaluate("() => Promise.all([...document.images].map((i) => i.loading === 'lazy' || i.decode()))")
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def keep_sheet(shots: list[Any], path: Path) -> None:
    """Screens beside one another, smaller than they are."""
    from PIL import Image

    small = [
        shot.resize((shot.width * TALL // shot.height, TALL), Image.Resampling.LANCZOS) for shot in shots
    ]
    wide = sum(one.width for one in small) + GAP * (len(small) - 1)
    sheet, left = Image.new("RGB", (wide, TALL), "#888888"), 0
    for one in small:
        sheet.paste(one, (left, 0))
        left += one.width + GAP
    sheet.save(path, quality=72, method=6)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def report(browser: Any, runs: Path, out: Path) -> None:
    """Reports from disk."""
    for names, picture, tall, scheme, top in REPORTS:
        folders = [f"{runs.name}/{name}" for name in names]
        where = ["--out", f"{runs.name}/both.html"] if len(names) > 1 else []
        done = subprocess.run(  # noqa: S603
            [WEAKSPOT, "report", *folders, *where],
            cwd=runs.parent,
            check=True,
            capture_output=True,
            text=True,
        )
        page = browser.new_page(viewport={"width": 1160, "height": tall}, color_scheme=scheme)
        page.goto((runs.parent / done.stdout.strip()).as_uri())
        page.evaluate("top => scrollTo(0, document.querySelector(top).offsetTop - 24)", top)
        page.wait_for_timeout(1_000)
        shoot(page, picture, out)
        page.close()
    for scheme, picture in (("light", "report-phone"), ("dark", "report-phone-dark")):
        phone(browser, runs / "fly-seed-7", out, scheme, picture)


def phone(browser: Any, run: Path, out: Path, scheme: Any, picture: str) -> None:
    """The first findings of a report on a narrow screen."""
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.goto((run / "report.html").as_uri())
    page.evaluate("scrollTo(0, document.querySelector('.ranking').offsetTop - 90)")
    shoot(page, picture, out)
    page.close()


def label(browser: Any, runs: Path, out: Path) -> None:
    """The labelling page, of several tasks."""
    for run, picture in (
        ("prompts", "label-pairs"),
        ("ask", "label-refusals"),
        ("pictures", "label-ratings"),
        ("map", "label-modes"),
    ):
        with served("label", run, cwd=runs) as link:
            page = browser.new_page(viewport={"width": 1000, "height": 860})
            page.goto(link)
            page.get_by_label("Your name").fill("Ann")
            page.keyboard.press("Enter")
            page.locator("body[data-ready]").wait_for()
            shoot(page, picture, out)
            page.close()


def main() -> None:
    """Make runs, serve them, look at them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, help="a folder for the runs, kept and used again")
    parser.add_argument("--only", choices=("reports", "pages"), help="some of the pictures")
    parser.add_argument("--out", type=Path, default=IMAGES, help="where pictures go")
    parser.add_argument("--sheets", action="store_true", help="only the sheets of first screens")
    args = parser.parse_args()
    path = shutil.which("chromium")
    if path is None:
        raise SystemExit("no chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        runs = (args.runs or Path(temporary, "runs")).resolve()
        make_runs(runs)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        if not args.sheets:
            if args.only != "reports":
                explore(browser, runs, args.out)
                label(browser, runs, args.out)
            if args.only != "pages":
                report(browser, runs, args.out)
        if args.only is None:
            sheets(browser, runs, args.out)
        browser.close()


if __name__ == "__main__":
    main()
