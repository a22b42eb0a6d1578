"""The result of an identification: values, their uncertainty, and the parameters that remain unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill, wrap

import numpy as np

from ..errors import IdentificationError, UnknownNameError, unknown
from ..mechanism.inertial_parameters import (
    KINDS,
    NOT_LINEAR,
    can_hold,
    columns_of,
    parameter_names,
    with_inertial_parameters,
)
from ..once import cached_property
from ..representation import html_table, quantity
from ..system.system import System
from .base_parameters import BaseParameters

IDENTIFIED = "identified"
COMBINED = "only in combination"
SILENT = "without effect"
UNEXCITED = "not excited"
UNCERTAIN = "uncertain"
HELD = "held"
KNOWN = "taken as known"
_WIDTH = 100  # of a report
_MEANING = {
    COMBINED: "motion depends on it only together with others; see `base.combinations` and `base_values`",
    SILENT: "no motion and no joint force depends on it",
    UNEXCITED: "these data do not depend on it; excite it, e.g. with exciting_trajectory(...)",
    UNCERTAIN: "its standard deviation exceeds its expected size; more or better data are needed",
    HELD: "the body has no mass in the given robot, and was kept so",
    KNOWN: "armature that couples joints is that of the given robot, and is not identified",
}


@dataclass(frozen=True)
class Identification:
    """Parameters identified from data, how well they are known, and what is not known.

    Parameters
    ----------
    given : System
        The robot as it was known.
    columns : tuple of str
        Kinds of parameters.
    names : tuple of str
        Names of the p parameters.
    values : ndarray, shape (p,)
        Their values. What the data do not determine keeps values near those of the given robot.
    deviations : ndarray, shape (p,)
        Their standard deviations, NaN unless known.
    statuses : tuple of str
        What is known of each: 'identified', 'only in combination', 'without effect', 'not excited', 'uncertain',
        'held' (a massless body) or 'taken as known' (armature that couples joints).
    base : BaseParameters
        What can be known at all.
    base_values : ndarray, shape (r,)
        Values of `base.combinations`.
    base_deviations : ndarray, shape (r,)
        Their standard deviations.
    kinds : tuple of str
        Kinds of equations: velocities, or 'energy'.
    residuals : ndarray
        Root mean squares of the residuals, by kind.
    free_residuals : ndarray
        The same of the best fit that need not be physically consistent.
    sizes : ndarray
        Root mean squares of what was fitted, by kind.
    noise : ndarray
        Standard deviations of the equations, by kind.
    equations : int
        Number of equations.
    condition : float
        Condition number of the weighted problem, in units relative to the given robot.
    consistent : str or None
        Solver that enforced physical consistency.

    Examples
    --------
    >>> import numpy as np, fourbar as fb
    >>> robot = fb.robots.double_pendulum()
    >>> q, v, a = np.random.default_rng(0).normal(size=(3, 200, 2))
    >>> found = fb.identify(robot, {"q": q, "v": v, "a": a, "tau": robot.inverse_dynamics(q, v, a)}, noise=0.01)
    >>> round(found.value("lower.mz")[0], 3)
    -0.16
    """

    given: System
    columns: tuple[str, ...]
    names: tuple[str, ...]
    values: np.ndarray
    deviations: np.ndarray
    statuses: tuple[str, ...]
    base: BaseParameters
    base_values: np.ndarray
    base_deviations: np.ndarray
    kinds: tuple[str, ...]
    residuals: np.ndarray
    free_residuals: np.ndarray  # of the best fit that need not be consistent
    sizes: np.ndarray
    noise: np.ndarray
    equations: int
    condition: float
    consistent: str | None

    @property
    def identified(self) -> tuple[str, ...]:
        """Parameters that the data determine by themselves.

        Returns
        -------
        tuple of str
            Their names.
        """
        return tuple(name for name, status in zip(self.names, self.statuses, strict=True) if status == IDENTIFIED)

    def value(self, name: str) -> tuple[float, float]:
        """Value and standard deviation of a parameter.

        Parameters
        ----------
        name : str
            Name of the parameter; the mass of a body is also called as in `names.numbers`, "body.mass".

        Returns
        -------
        value : float
            Its value, in SI units.
        deviation : float
            Its standard deviation.

        Raises
        ------
        IdentificationError
            If the data do not determine it.
        UnknownNameError
            If there is none of this name. Of other `names.numbers` it says by which parameters they are identified.
        """
        at = self.names.index(self._own_name(name))
        if self.statuses[at] != IDENTIFIED:
            raise IdentificationError(f"{name} is {self.statuses[at]}: {_MEANING[self.statuses[at]]}")
        return float(self.values[at]), float(self.deviations[at])

    def _own_name(self, name: str) -> str:
        """One of `names`; an error for any other."""
        if name in self.names:
            return name
        if name not in self.given.names.numbers:
            raise unknown("parameter", name, self.names)
        columns = columns_of(name, self.names)
        if len(columns) == 1 and name.endswith(".mass"):
            return columns[0]
        if columns:
            raise UnknownNameError(f"{name!r} is identified by {', '.join(columns)}; the new robot, `robot`, holds it")
        if possible := columns_of(name, parameter_names(self.given.mechanism, KINDS)):
            raise UnknownNameError(
                f"{name!r} was not identified: its kind is not among the columns; see {possible[0]!r}"
            )
        raise UnknownNameError(f"{name!r} was not identified: {NOT_LINEAR}")

    @cached_property
    def robot(self) -> System:
        """The given robot with the identified parameters.

        It moves like the measured one, wherever base parameters agree; friction and springs are with its joints. What
        it cannot hold is named in `left_out`.

        Returns
        -------
        System
            The robot.
        """
        values = np.where([name in self.left_out for name in self.names], 0.0, self.values)
        return System(with_inertial_parameters(self.given.mechanism, values, self.columns))

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Preloads that `robot` cannot hold, since their joint got no spring.

        Returns
        -------
        tuple of str
            Names of these parameters: constant forces, or offsets of a sensor.
        """
        if "preload" not in self.columns:
            return ()
        values_by_name = dict(zip(self.names, self.values.tolist(), strict=True))
        names, held = (self.given.parameter_names(kind) for kind in ("preload", "stiffness"))
        stiffness = self.given.inertial_parameters("stiffness").tolist()
        joints = [c for c in self.given.mechanism.joints for _ in range(c.joint.nv)]
        each = zip(
            joints, names, (values_by_name.get(name, k) for name, k in zip(held, stiffness, strict=True)), strict=True
        )
        return tuple(name for c, name, k in each if not can_hold(c, k, values_by_name[name]))

    def __repr__(self) -> str:
        known = f"{len(self.identified)} of {quantity(len(self.names), 'parameter')} identified"
        return (
            f"<fourbar Identification of {self.given.name!r}: {known}, {self.base.rank} base parameters from "
            f"{quantity(self.equations, 'equation')}>"
        )

    def _repr_html_(self) -> str:
        values = zip(self.base.combinations, self.base_values, self.base_deviations, strict=True)
        rows = ((name, f"{value:.6g}", f"{deviation:.2g}") for name, value, deviation in values)
        return html_table(repr(self), ("base parameter", "value", "± deviation"), rows)

    def __str__(self) -> str:
        return self.report()

    def report(self) -> str:
        """All results as text.

        Returns
        -------
        str
            Fit, base parameters with deviations, and what is not known and why.
        """
        total = [f"{self.equations} equations, {self.base.rank} base parameters, condition number {self.condition:.3g}"]
        if self.consistent is not None:
            total.append(f"physically consistent ({self.consistent})")
        fit = [("equation", "size", "residual", "relative")]
        for kind, size, residual in zip(self.kinds, self.sizes, self.residuals, strict=True):
            fit.append((kind, f"{size:.4g}", f"{residual:.4g}", f"{residual / size:.2%}" if size > 0.0 else "-"))
        rows = [("value", "± deviation", "base parameter")]
        for name, value, deviation in zip(self.base.combinations, self.base_values, self.base_deviations, strict=True):
            rows.append((f"{value:.6g}", f"{deviation:.2g}", name))
        unknown_ones = []
        for status, meaning in _MEANING.items():
            named = [name for name, x in zip(self.names, self.statuses, strict=True) if x == status]
            if named:
                unknown_ones.append(f"{fill(f'{status} ({meaning}):', _WIDTH)}\n{_indent_names(named)}")
        if self.left_out:
            unknown_ones.append(f"not in `robot` (a constant force needs a spring):\n{_indent_names(self.left_out)}")
        parts = [fill("; ".join(total), _WIDTH), _table(fit), _table(rows), *unknown_ones]
        return "\n\n".join(parts)


def _indent_names(names: Sequence[str]) -> str:
    return fill(", ".join(names), _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _table(rows: list[tuple[str, ...]]) -> str:
    """Rows as text; where the last column is long, it goes on in lines of its own."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    indent = sum(widths) + 2 * len(widths)
    lines = []
    for *cells, last in rows:
        head = "".join(x.ljust(w) + "  " for x, w in zip(cells, widths, strict=True))
        wrapped = wrap(last, _WIDTH - indent, break_long_words=False, break_on_hyphens=False) or [""]
        lines += [(head + wrapped[0]).rstrip(), *(" " * indent + line for line in wrapped[1:])]
    return "\n".join(lines)
