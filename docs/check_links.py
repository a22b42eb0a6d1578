"""Links of the built site that lead nowhere:  python docs/check_links.py [folder]

Sphinx checks links between the pages that it reads, but not those of pages that are copied as they are.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from urllib.parse import unquote

_LINK = re.compile(r'(?:href|src)="([^"#?]*)(?:\?[^"#]*)?(?:#([^"]*))?"')
_NAME = re.compile(r'\b(?:id|name)="([^"]+)"')
_SCRIPT = re.compile(r"<script.*?</script>", re.DOTALL)


def broken_links(folder: Path) -> list[str]:
    """A line for each link to a file, or to a place of a page, that is not there."""
    texts = {path.resolve(): _SCRIPT.sub("", path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    places = {path: set(_NAME.findall(text)) for path, text in texts.items()}
    found = []
    for path, text in sorted(texts.items()):
        for link, place in dict.fromkeys(_LINK.findall(text)):
            if re.match(r"[a-z]+:|//", link) or not (link or place):
                continue
            target = (path.parent / unquote(html.unescape(link))).resolve() if link else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{path.relative_to(folder.resolve())}: there is no {link}")
            elif place and target in places and unquote(html.unescape(place)) not in places[target]:
                found.append(f"{path.relative_to(folder.resolve())}: {link or path.name} has no place #{place}")
    return found


if __name__ == "__main__":
    lines = broken_links(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "_build" / "html")
    print("\n".join(lines) or "all links lead somewhere")
    sys.exit(bool(lines))
