"""Findings about what a MuJoCo model has and a mechanism lacks.

Errors (unless waived) are what moves the bodies by itself; notes are what a program adds (sensors, contacts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...mechanism.geometry import CONTACT, WORLD_CONTACT
from ...representation import abbreviate, quantity
from ..report import Place, Reading
from .actuators import with_reflected
from .bodies import BALL, FREE
from .contacts import INTEGRATORS, colliding
from .fluids import ellipsoids, has_medium
from .lines import ElementLines, MjcfNames
from .passive import passive, switched_off, with_signs
from .switches import CONTACT as CONTACTS
from .switches import GRAVITY, SAFE_REFERENCES, compensation, is_off

_MEDIUM = ("density", "viscosity", "wind")
_STEP = 0.002  # MuJoCo's own
_OVERRIDE = 1  # bit of its enableflags
# What is counted and ignored: key, singular, plural.
_COUNTED = {
    "camera": ("camera", "cameras"),
    "light": ("light", "lights"),
    "sensor": ("sensor", "sensors"),
    "skin": ("skin", "skins"),
    "texture": ("texture", "textures"),
    "hfield": ("height field", "height fields"),
    "custom": ("custom number, text or tuple", "custom numbers, texts and tuples"),
}


def report_counts(reading: Reading, place: Place, counts: Mapping[str, int]) -> None:
    """A note for each kind of thing that is ignored, by key."""
    for key, n in counts.items():
        if n:
            one, several = _COUNTED[key]
            reading.add("note", place, f"{n} {f'{one} is' if n == 1 else f'{several} are'} ignored", "", key)


class Findings:
    """Reports what is ignored."""

    def __init__(self, model: Any, names: MjcfNames, lines: ElementLines, reading: Reading) -> None:
        self.model, self.names, self.lines, self.reading = model, names, lines, reading

    def report(self) -> None:
        """Report everything."""
        self._medium()
        self._bodies()
        self._joints()
        self._negative()
        self._sites()
        self._the_rest()

    def _medium(self) -> None:
        for attribute in _MEDIUM if has_medium(self.model) else ():
            if np.any(getattr(self.model.opt, attribute)):
                value = np.array(getattr(self.model.opt, attribute)).tolist()
                message = (
                    f"{attribute}={value}: drag on the bodies acts in passive_dynamics, simulations and scenes, not in "
                    "forward_dynamics"
                )
                self.reading.note(self.whole, message, key=f"option@{attribute}")
        if is_off(self.model, GRAVITY):
            self.reading.note(self.whole, "gravity is disabled in the file: it is set to zero")
        for message in switched_off(self.model):
            self.reading.note(self.whole, message)

    @property
    def whole(self) -> Place:
        """The file as a whole."""
        return Place(self.lines.file)

    def _bodies(self) -> None:
        m = self.model
        for i in range(1, m.nbody):
            place, name = self.lines.of("body", self.names.bodies[i]), self.names.bodies[i]
            if compensation(m)[i]:
                message = (
                    f"body {name!r}: gravcomp={m.body_gravcomp[i]:g} is a passive force: it acts in passive_dynamics, "
                    "simulations and scenes, not on the rigid bodies alone (forward_dynamics)"
                )
                self.reading.note(place, message, key="body@gravcomp")
            if has_medium(m) and ellipsoids(m, i):
                message = f"body {name!r}: fluid forces on its geoms with fluidshape='ellipsoid' are ignored"
                self.reading.doubt(place, message, "", "geom@fluidshape")
            if m.body_mocapid[i] >= 0:
                message = (
                    f"body {name!r} is a mocap body, which a program moves; here it is fixed where the file has it"
                )
                self.reading.warn(place, message, key="body@mocap")
            if m.body_plugin[i] >= 0:
                self.reading.doubt(place, f"body {name!r}: its plugin is ignored", "", "body/plugin")

    def _negative(self) -> None:
        """Damping, friction and springs that drive joints."""
        m, acting = self.model, with_signs(self.model)
        for j, name in enumerate(self.names.joints):
            first = m.jnt_dofadr[j]
            found = {"damping": acting.damping[first], "frictionloss": acting.friction[first]}
            for attribute, value in {**found, "stiffness": acting.stiffness[j]}.items():
                if value < 0.0:
                    message = f"joint {name!r}: {attribute}={value:g} is negative; if accepted, it counts as zero"
                    self.reading.doubt(
                        self.lines.of("joint", name), message, "write a number ≥ 0", f"joint@{attribute}"
                    )

    def _joints(self) -> None:
        m = self.model
        armature, acting = with_reflected(m, m.dof_armature, "armature"), passive(m)
        for j, name in enumerate(self.names.joints):
            place, dofs = self.lines.of("joint", name), range(m.jnt_dofadr[j], m.jnt_dofadr[j] + 1)
            if m.jnt_type[j] == BALL and acting.limited[j]:
                message = f"joint {name!r}: the limit of a ball joint, an angle of {m.jnt_range[j, 1]:g}, is ignored"
                self.reading.warn(place, message, key="joint@range")
            if not m.jnt_limited[j] and np.any(m.jnt_range[j]):
                message = f"joint {name!r}: MuJoCo does not use its range {m.jnt_range[j].tolist()} as limits"
                self.reading.warn(place, message, "write the lower limit first, or limited", "joint@range")
            low, high = m.jnt_actfrcrange[j].tolist()
            if m.jnt_actfrclimited[j] and not low <= 0.0 <= high:
                message = f"joint {name!r}: its force range [{low:g}, {high:g}] is widened to contain zero"
                self.reading.warn(place, message, key="joint@actuatorfrcrange")
            if m.jnt_actgravcomp[j] and m.jnt_actfrclimited[j] and compensation(m).any():
                message = (
                    f"joint {name!r}: gravity compensation counts as a force of its actuators, within [{low:g}, "
                    f"{high:g}], in MuJoCo; here it is a passive force without bounds"
                )
                self.reading.note(place, message, key="joint@actuatorgravcomp")
            if m.jnt_type[j] == FREE and armature[m.jnt_dofadr[j]]:
                message = (
                    f"joint {name!r}: MuJoCo adds the armature of a free joint to its velocity in world axes, so that "
                    "the first three velocities of this joint are along these, followed by the angular ones"
                )
                self.reading.warn(place, message, "remove it: a free body needs none", "joint@armature")
            if np.any(m.jnt_stiffnesspoly[j]) or m.jnt_springyield[j]:
                message = f"joint {name!r}: only the linear part of its spring is read"
                self.reading.doubt(place, message, "", "joint@stiffness")
            if np.any(m.dof_dampingpoly[list(dofs)]):
                message = f"joint {name!r}: only the linear part of its damping is read"
                self.reading.doubt(place, message, "", "joint@damping")
        if np.any(acting.stiffness):
            held = abbreviate([repr(n) for n, k in zip(self.names.joints, acting.stiffness, strict=True) if k])
            self.reading.note(self.whole, f"springs of joints {held} are read; their forces are in passive_forces")

    def _sites(self) -> None:
        for s, name in enumerate(self.names.sites):
            own = self.model.site(s).name
            if own and own != name:
                message = f"site {own!r} has the name of a body; it is called {name!r} here"
                self.reading.warn(self.lines.of("site", own), message, key="site@name")

    def _the_rest(self) -> None:
        m = self.model
        counts = {
            "camera": m.ncam, "light": m.nlight, "sensor": m.nsensor, "skin": m.nskin, "texture": m.ntex,
            "custom": m.nnumeric + m.ntext + m.ntuple,
        }  # fmt: skip
        report_counts(self.reading, self.whole, counts)
        self._options()
        self._contacts()
        if m.nflex:
            bodies = quantity(int(m.nflex), "flexible body is", "flexible bodies are")
            self.reading.doubt(self.whole, f"{bodies} ignored", "", "deformable/flex")
        if m.nplugin:
            plugins = quantity(int(m.nplugin), "plugin is", "plugins are")
            self.reading.doubt(self.whole, f"{plugins} ignored", "", "plugin")

    def _note(self, place: Place, message: str, key: str) -> None:
        self.reading.add("note", place, message, "", key)

    def _options(self) -> None:
        option = self.model.opt
        if option.timestep != _STEP:
            message = (
                f"timestep={option.timestep:g} is kept in mechanism.contacts: pass dt={option.timestep:g} to simulate"
            )
            self._note(self.whole, message, "option@timestep")
        if option.integrator:
            name = INTEGRATORS[option.integrator] if option.integrator < len(INTEGRATORS) else option.integrator
            message = f"integrator={name} acts under law=fb.contact.MuJoCo() only: other steps have their own"
            self._note(self.whole, message, "option@integrator")
        unlike = "in MuJoCo changes contact forces; law=fb.contact.MuJoCo() does not know it"
        if option.noslip_iterations:
            self._note(self.whole, f"noslip_iterations={option.noslip_iterations} {unlike}", "option@noslip_iterations")
        if option.enableflags & _OVERRIDE:
            self._note(self.whole, f"override of the numbers of all contacts {unlike}", "option/flag@override")
        if is_off(self.model, SAFE_REFERENCES):
            message = "refsafe is disabled in the file; law=fb.contact.MuJoCo() keeps time constants above two steps"
            self._note(self.whole, message, "option/flag@refsafe")

    def _contacts(self) -> None:
        m = self.model
        n = int(colliding(m).sum())
        if not n or is_off(m, CONTACTS):
            return
        what = "1 geom can touch others" if n == 1 else f"{n} geoms can touch each other"
        self._note(self.whole, f"{what} in MuJoCo; simulate alone has no contacts", CONTACT)
        if touches_world(m):
            message = "bodies can touch the world, such as a floor, in MuJoCo; simulate lets them pass through"
            self._note(self.whole, message, WORLD_CONTACT)


def touches_world(model: Any) -> bool:
    """Whether MuJoCo lets a geom of a body that moves touch one of the world."""
    moving = model.body_weldid[model.geom_bodyid] != 0
    kinds, others = model.geom_contype, model.geom_conaffinity
    meets = (kinds[moving][:, None] & others[~moving][None]) | (others[moving][:, None] & kinds[~moving][None])
    pairs = zip(model.pair_geom1, model.pair_geom2, strict=True)
    return bool(meets.any()) or any(moving[a] != moving[b] for a, b in pairs)
