"""All first derivatives of a step."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...algorithms.tiles import Rows, plus_product, transpose
from ...expr.program_derivatives import MANY
from ...functions.arguments import A
from ...functions.context import Context
from ...functions.registry import flat
from ...spatial.linear import Mat, Vec, is_zero
from ...tree.cluster_tree import GROUND
from ...tree.clusters import split
from ..contact_model import rows
from .directional_step import DirectionalStep, columns_of, rate_of
from .known_step import KnownStep
from .response import negative
from .step_derivative import Entries, Known, LinearStep, StepInputs, add, over
from .tree_ends import end_rates
from .tree_rates import TreeRates


class StepJacobianRecording(DirectionalStep):
    """All of them: (2 nv, columns) of q and v by the entries of the `moving` arguments, one after the other."""

    kind = "jacobian"

    def __init__(self, of: StepInputs, moving: tuple[str, ...]) -> None:
        super().__init__(of, moving)
        self.arguments = self.inputs
        self.results = ("jacobian", "report")
        links = [link for x in of.spec.candidates for link in x.links if link != GROUND]
        self.is_redundant = len(set(links)) < len(links) or rows(self.model) > self.model.cluster_tree.nv
        self.is_tree = all(x.is_free and len(x.links) == 1 for x in self.model.cluster_tree.clusters)

    def _accelerations(self, known: Known, linear: LinearStep, directions: Sequence[Entries], piece: int) -> Rows:
        """M̃⁻¹ among contacts is formed once, which joint forces take as it is."""
        response, recorder, count = linear.response, known.c.recorder, len(directions)
        if response is None or self.has_free:
            return super()._accelerations(known, linear, directions, piece)
        inverse, across = linear.M.inverse(), negative(recorder, linear.answers)  # M̃⁻¹, M̃⁻¹ Jᵀ
        (dt,) = known.c.given["dt"]
        if self.is_redundant:
            pushes = response.pushes(linear.answers)  # -M̃⁻¹ Jᵀ S
        else:
            pushes = plus_product(recorder, None, linear.answers, response.by_velocity())
        held = plus_product(recorder, inverse, pushes, transpose(across), large=self.is_redundant)
        pushes = [list(row) for row in recorder.call(over, Mat(map(Vec, pushes)), dt)]
        pushed = [k for k, way in enumerate(directions) if tuple(way) == ("tau",)]
        others = [k for k in range(count) if k not in pushed]
        rates = self._rates(known, [directions[k] for k in others], piece)
        left = [a + b for a, b in zip(negative(recorder, held), pushes, strict=True)]
        da = plus_product(recorder, None, left, columns_of(rates, "r") + columns_of(rates, "c"), large=True)
        if response.has_bounds:
            da = self._add_bounds(known, linear, across, rates, da)
        columns = dict(zip(others, transpose(da), strict=True)) if others else {}
        own = list(zip(*held, strict=True))
        columns |= {k: list(own[directions[k]["tau"].index(1.0)]) for k in pushed}
        return transpose([columns[k] for k in range(count)])

    @property
    def _is_lean(self) -> bool:
        """Whether all that moves besides q and v acts through accelerations."""
        known = self.moving[:2] == ("q", "v") and set(self.moving[2:]) <= {"tau", "u"}
        return self.is_tree and known and not self.of.recovers

    def _ends(self, known: Known, directions: Sequence[Entries], da: Rows, piece: int) -> tuple[Rows, Rows]:
        if not self._is_lean:
            return super()._ends(known, directions, da, piece)
        a = list(split(known.c.clusters, known.a, "nv"))
        return end_rates(self.known_step(known.c), a, self.displacement_slopes(known), da)

    def _rates(self, known: Known, directions: Sequence[Entries], piece: int) -> list[Entries]:
        """The rates of r, c and the bounds; of trees by q and v from the sweeps of inverse dynamics."""
        n = self.model.cluster_tree.nv
        is_known = all(isinstance(x, float) for x in known.c.gravity)
        plain = self.is_tree and is_known and not (self.model.kept_rows or self.of.recovers)
        if not plain or self.moving[:2] != ("q", "v"):
            return list(self.equations(known, piece).push(directions)[1])
        c, a = known.c, list(split(known.c.clusters, known.a, "nv"))
        step = self.known_step(c)
        more = [A.on(self.model)]
        count = len(directions) if self._is_lean else 2 * n  # controls act through forces alone
        forces = self._replay(known, "forces", more, self._forces, {"a": known.a}, piece).push(directions[:count])[1]
        r, of_contacts = TreeRates(step, a, step.parts(c.given.get("impulse", ()))).rates()
        of_joints = [[*[0.0] * n, *row] for row in linear_rows(step)]
        zeros = [[0.0] * (count - 2 * n)]
        dc = transpose([row + zeros[0] for row in of_contacts + of_joints])
        found = list[Entries]()
        for own, by_c, force in zip(transpose([row + zeros[0] for row in r]), dc, forces, strict=True):
            both = zip(own, force["forces"], strict=True)
            total = [x if is_zero(y) else y if is_zero(x) else c.recorder.call(add, x, y) for x, y in both]
            found.append({"r": total, "c": by_c, "bounds": force["bounds"]})
        rest = directions[count:]
        return found + (list(self.equations(known, piece).push(rest)[1]) if rest else [])

    def _forces(self, c: Context) -> dict[str, Sequence[Any]]:
        step = self.known_step(c)
        return {"forces": step.unmodelled_forces(c.by_cluster("a")), "bounds": flat(step.bounds())}

    def _add_bounds(self, known: Known, linear: LinearStep, across: Rows, rates: Sequence[Entries], da: Rows) -> Rows:
        """Changes of a with those by bounds that move, where any do."""
        recorder, (dt,) = known.c.recorder, known.c.given["dt"]
        moving = [k for k, rate in enumerate(rates) if not all(map(is_zero, rate["bounds"]))]
        if not moving or linear.response is None:
            return da
        still = [[0.0] * len(moving) for _ in linear.J]
        dimpulse = linear.response.impulses(still, columns_of([rates[k] for k in moving], "bounds"))
        pushes = [list(row) for row in recorder.call(over, Mat(map(Vec, across)), dt)]
        some = plus_product(recorder, [[row[k] for k in moving] for row in da], pushes, dimpulse)
        for row, new in zip(da, some, strict=True):
            for k, x in zip(moving, new, strict=True):
                row[k] = x
        return da

    def record(self, c: Context) -> list[tuple[str, tuple[int, ...], Sequence[Any]]]:
        directions = []
        own = {x.name: x for x in self.inputs}
        for name in self.moving:
            width = prod(own[name].tangent)
            for j in range(width):
                unit = [1.0 if i == j else 0.0 for i in range(width)]
                directions.append({name: rate_of(c, own[name], unit)})
        dq, dv, known, linear = self.push(c, directions, MANY)
        return [("jacobian", (2 * c.nv, len(directions)), flat([*dq, *dv])), *self.report(known, linear)]


def linear_rows(step: KnownStep) -> list[list[Any]]:
    """The rows of joints (rows, nv) of a tree."""
    first = step.s.tree.first_v
    return [[float(j == first[x.link] + x.entry) for j in range(step.c.nv)] for x in step.spec.joints]
