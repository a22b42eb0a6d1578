"""Numbers as files write them, read strictly: what Python or C would guess is refused.

Rotation matrices are written as such numbers.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np


def quaternion(R: Any) -> tuple[float, ...]:
    """The unit quaternion (w, x, y, z) of a rotation, w ≥ 0; by the largest of its entries, which loses nothing."""
    R = np.array(R, float)
    K = np.array(
        [
            [R.trace(), R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0, R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [0, 0, R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]],
            [0, 0, 0, R[2, 2] - R[0, 0] - R[1, 1]],
        ]
    )
    K = np.triu(K) + np.triu(K, 1).T + np.eye(4)
    row = K[np.argmax(np.diag(K))]
    q = row / np.linalg.norm(row)
    return tuple((q if q[0] >= 0.0 else -q).tolist())


_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_LONGEST = 400  # characters; nobody writes a longer number
_ENDLESS = 1e9  # a limit this far away means that there is none
_WORDS = {"nan", "inf", "infinity", "+inf", "-inf", "+infinity", "-infinity", "+nan", "-nan"}


def position_limit(value: float, sign: float) -> float:
    """A lower (sign -1) or upper (+1) limit of a position: infinite where there is none, however that is written."""
    return sign * math.inf if sign * value >= _ENDLESS else value


class NotANumber(ValueError):
    """Why a text is not a number."""


def read_number(text: str) -> float:
    """One finite decimal number; raises NotANumber with the reason."""
    word = text.strip()
    if len(word) <= _LONGEST and _NUMBER.fullmatch(word):
        value = float(word)
        if math.isfinite(value):
            return value
        raise NotANumber(f"{word!r} is too large")
    raise NotANumber(_reason(word))


def _reason(word: str) -> str:
    shown = repr(word if len(word) <= 40 else word[:40] + "...")
    if not word:
        return "it is empty"
    if word.lower() in _WORDS:
        return f"{shown} is not finite"
    if len(word) > _LONGEST and _NUMBER.fullmatch(word):
        return f"{shown} has more than {_LONGEST} characters"
    if "$" in word or "{" in word:
        return f"{shown} is an expression; expand the file with xacro first"
    if len(word.split()) > 1:
        return f"{shown} is more than one number"
    if word[-1:] in ",;" and _NUMBER.fullmatch(word[:-1]):
        return f"{shown} ends with {word[-1]!r}; separate numbers by spaces alone"
    if "," in word and _NUMBER.fullmatch(word.replace(",", ".", 1)):
        return f"{shown} has a comma; write a decimal point"
    if word.lower().lstrip("+-").startswith("0x"):
        return f"{shown} is hexadecimal; write a decimal number"
    return f"{shown} is not a decimal number"


def read_numbers(text: str, count: int) -> tuple[float, ...]:
    """`count` numbers, separated by spaces."""
    words = text.split()
    if len(words) != count:
        if "$" in text:
            raise NotANumber(_reason(text.strip()))
        if any("," in w for w in words):
            raise NotANumber(f"{text.strip()[:60]!r} has commas; separate {count} numbers by spaces")
        raise NotANumber(f"{text.strip()[:60]!r} has {len(words)} numbers, but {count} are expected")
    return tuple(map(read_number, words))
