"""A scene as a session and a notebook show it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..contact.candidates import Spec
from ..hints import Hinted
from ..representation import html_table, quantity
from ..viewer.recorded_motion import still
from ..viewer.standalone_page import notebook


class SceneRepresentation(Hinted):
    """Short in a session; in a notebook the robot on its ground, and what may touch."""

    _scope = "Scene"
    robot: Any
    spec: Spec
    terrains: Any
    added: Any
    start: Any

    def __repr__(self) -> str:
        joints = {(row.link, row.entry) for row in self.spec.joints}
        return (
            f"<fourbar Scene {self.robot.name!r}: {quantity(len(self.spec.candidates), 'contact')}, "
            f"{quantity(len(joints), 'joint velocity', 'joint velocities')} with limits or friction>"
        )

    def _repr_html_(self) -> str:
        table = html_table(repr(self), ("contact or joint", "friction", "restitution", "limits"), self._rows())
        return notebook(lambda: still(self.robot, self.start(), self.terrains, self.added), table)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        """What may touch, then the joints with limits or friction."""
        for x in self.spec.candidates:
            yield x.name, f"{x.friction:.6g}", f"{x.restitution:.6g}", ""
        for x in self.spec.joints:
            yield x.name, f"{x.friction:.6g}", "", f"{x.lower:.6g} to {x.upper:.6g}"
