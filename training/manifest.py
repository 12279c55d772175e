"""List the world's weights with their digests, when they have changed: `python training/manifest.py`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from weakspot.world import shipped


def rewrite() -> dict[str, dict[str, Any]]:
    """Write the manifest from what is in the folder. Cards (`*.md`) and hidden files are not weights."""
    files = {}
    for path in sorted(shipped.FOLDER.rglob("*")):
        name = path.relative_to(shipped.FOLDER).as_posix()
        hidden = any(part.startswith((".", "__")) for part in Path(name).parts)
        if path.is_file() and not hidden and path.suffix != ".md" and name != shipped.MANIFEST:
            content = path.read_bytes()
            files[name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    beside = shipped.FOLDER / f".{shipped.MANIFEST}"
    beside.write_text(json.dumps({"files": files}, indent=2) + "\n", "utf-8")
    beside.replace(shipped.FOLDER / shipped.MANIFEST)
    return files


def main() -> None:
    """Write the manifest and say what is in it."""
    files = rewrite()
    for name, entry in files.items():
        print(f"{entry['bytes'] / 1e6:8.2f} MB  {entry['sha256'][:12]}  {name}")
    print(f"{sum(entry['bytes'] for entry in files.values()) / 1e6:8.2f} MB  in {len(files)} files")


if __name__ == "__main__":
    main()
