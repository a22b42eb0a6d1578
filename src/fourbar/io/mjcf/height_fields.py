"""Height fields: MuJoCo is given those whose heights are there, and are not too many."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from ..report import Place, Reading
from .strict_text import MOST_HEIGHTS, Texts

_LARGEST = 64 * 2**20  # bytes of a file
_PNG, _SIZE = b"\x89PNG\r\n\x1a\n", slice(16, 24)


def supplied_fields(spec: Any, texts: Texts, reading: Reading) -> set[str]:
    """Give MuJoCo the files of height fields; the names of those found. The others are removed and reported."""
    found, missing = set(), []
    for number, field in enumerate(list(spec.hfields)):
        name = field.name or PurePosixPath(field.file.replace("\\", "/")).stem
        content = _content(spec, field, texts) if field.file else b""
        if content is None:
            missing.append(name)
            spec.delete(field)
            continue
        found.add(name)
        if field.file:
            field.name, field.file = name, f"field{number}{Path(field.file).suffix}"
            folder = field.compiler.meshdir
            spec.assets[f"{folder}/{field.file}" if folder else field.file] = content
    if missing:
        listed = ", ".join(repr(x[:60]) for x in missing[:5])
        message = f"height fields {listed} are ignored: their heights are not found, or more than {MOST_HEIGHTS}"
        reading.add("note", Place(texts.lines.file), message, "add their folder with folders=[...]", "hfield")
    return found


def _content(spec: Any, field: Any, texts: Texts) -> bytes | None:
    """The bytes of its file; None if it is not found, or makes too many heights."""
    file = PurePosixPath(field.file.replace("\\", "/")).name if spec.strippath else field.file
    path = texts.finder(texts.lines.element_at(field.info)).mesh(field.compiler.meshdir, file)
    if path is None or path.stat().st_size > _LARGEST:
        return None
    content = path.read_bytes()
    if content.startswith(_PNG):
        width, height = (int.from_bytes(content[_SIZE][k : k + 4], "big") for k in (0, 4))
    else:  # rows and columns, then the heights, in 4 bytes each
        width, height = (int.from_bytes(content[k : k + 4], "little", signed=True) for k in (0, 4))
    return content if 0 < width * height <= MOST_HEIGHTS else None
