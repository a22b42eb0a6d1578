"""Writes src/fourbar/functions/method_table.py, the file of each method:  python docs/make_method_table.py

Run it after adding a method, or moving one to another file. Subjects keep their order, new ones come last.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from fourbar.functions import method_table, methods, registry

TARGET = Path(method_table.__file__)
_HEAD = '''\
"""The file of `methods` in which each method is: made by `python docs/make_method_table.py`.

A robot has these methods; the file of one is imported when it is first asked for.
"""

from __future__ import annotations

SUBJECTS: dict[str, str] = {
'''


def subjects() -> list[str]:
    """The files of `methods`, those that are in the table first."""
    found = sorted(path.stem for path in Path(methods.__file__).parent.glob("*.py") if path.stem != "__init__")
    listed = [x for x in dict.fromkeys(method_table.SUBJECTS.values()) if x in found]
    return [*listed, *(x for x in found if x not in listed)]


def table() -> dict[str, str]:
    """The file of each method, from what is registered."""
    order = subjects()
    for subject in order:
        import_module(f"{methods.__name__}.{subject}")
    registered = {name: m.record.__module__.rpartition(".")[2] for name, m in registry.METHODS.registered.items()}
    return {name: own for subject in order for name, own in registered.items() if own == subject}


def text() -> str:
    """What is in the file."""
    return _HEAD + "".join(f'    "{name}": "{subject}",\n' for name, subject in table().items()) + "}\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
