"""Names for what MuJoCo leaves unnamed."""

from __future__ import annotations

from typing import Any


class MjcfNames:
    """The names of a model's objects: those of the file, and suitable ones for the rest.

    Bodies and sites share one namespace here, unlike in MuJoCo: a site may get another name.
    """

    def __init__(self, model: Any) -> None:
        self.bodies = ["world", *_complete([model.body(i).name for i in range(1, model.nbody)], "body", {"world"})]
        self.joints = _complete([model.joint(i).name for i in range(model.njnt)], "joint", set())
        for i in range(model.njnt):
            owner = model.jnt_bodyid[i]
            if not model.joint(i).name and model.body_jntnum[owner] == 1 and self.bodies[owner] not in self.joints:
                self.joints[i] = self.bodies[owner]
        self.sites = _complete([model.site(i).name for i in range(model.nsite)], "site", {*self.bodies})
        self.tendons = _complete([model.tendon(i).name for i in range(model.ntendon)], "tendon", set())
        self.equalities = _complete([model.equality(i).name for i in range(model.neq)], "equality", set())
        count = len(model.actuator_trntype)
        self.actuators = _complete([model.actuator(i).name for i in range(count)], "actuator", set())
        self.keys = _complete([model.key(i).name for i in range(model.nkey)], "key", {"qpos0"})

    def carrier(self, body: int, joint: int) -> str:
        """The name of the massless body that one of several joints of a body carries."""
        return unique_name(f"{self.bodies[body]}/{self.joints[joint]}", {*self.bodies, *self.sites})

    def fixed_joint(self, body: int) -> str:
        """The name of the joint of a body that has none."""
        return unique_name(self.bodies[body], set(self.joints))


def unique_name(name: str, taken: set[str]) -> str:
    """The name, with the first number appended that makes it unique."""
    chosen, n = name, 1
    while chosen in taken:
        n += 1
        chosen = f"{name}_{n}"
    return chosen


def _complete(names: list[str], kind: str, taken: set[str]) -> list[str]:
    """The names, with `kind` and a number where there is none, and a number where it is taken."""
    used = taken | {name for name in names if name}
    done: set[str] = set(taken)
    complete_names = []
    for number, name in enumerate(names):
        chosen = name if name and name not in done else unique_name(name or f"{kind}{number}", used)
        used.add(chosen)
        done.add(chosen)
        complete_names.append(chosen)
    return complete_names
