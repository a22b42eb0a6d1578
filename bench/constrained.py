"""Forward dynamics of a humanoid with both feet welded, beside Pinocchio.

python bench/constrained.py [--quick] [--strict] [--save]

Needs `pip install pin example-robot-data`. Pinocchio's `constraintDynamics` has no batch: its call is repeated from
Python. Both sides get the same states, with velocities that keep the feet still, and are measured in turns. `--strict`
exits non-zero where a ratio is less than four fifths of the published one, `--save` writes the results
(bench/report.py).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

os.environ.setdefault("FOURBAR_THREADS", "1")

import numpy as np
import pinocchio as pin

import fourbar as fb
from fourbar.bridges.pinocchio import Peer
from fourbar.constraints import Contact
from fourbar.system.program_text import count
from report import Report, add_options
from robots import load
from timing import steady

REPORT = Report("constrained")
ROBOT = "talos_reduced"
FEET = ("left_sole_link", "right_sole_link")
BATCH, CALLS = 1024, 128


class ContactPeer:
    """A Pinocchio model with frames welded to the world."""

    def __init__(self, peer: Peer, frames: Sequence[str]) -> None:
        self.model, self.data = peer.model, peer.model.createData()
        self.constraints = pin.StdVec_RigidConstraintModel()
        self.memory = pin.StdVec_RigidConstraintData()
        self.settings = pin.ProximalSettings(1e-12, 0.0, 1)
        for name in frames:
            frame = self.model.frames[self.model.getFrameId(name)]
            held = (pin.ContactType.CONTACT_6D, self.model, frame.parentJoint, frame.placement)
            made = pin.RigidConstraintModel(*held, pin.ReferenceFrame.LOCAL)
            self.constraints.append(made)
            self.memory.append(made.createData())
        pin.initConstraintDynamics(self.model, self.data, self.constraints, self.memory)

    def accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """v̇."""
        return pin.constraintDynamics(
            self.model, self.data, q, v, tau, self.constraints, self.memory, self.settings
        )  # fmt: skip

    def forces(self) -> np.ndarray:
        """The wrenches of the last call, [moment; force] on the feet, in their axes."""
        return np.concatenate([[*d.contact_force.angular, *d.contact_force.linear] for d in self.memory])


def states(held: fb.system.constrained.robot.Constrained, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, v, τ; v keeps the constraints."""
    rng = np.random.default_rng(0)
    robot = held.system
    q = robot.random(rng, n)
    v, tau = rng.normal(size=(2, n, robot.nv))
    return q, held.impulse(q, v)[0], 10.0 * tau


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="see whether it runs; the numbers mean nothing")
    add_options(parser)
    options = parser.parse_args(argv)
    turns, seconds = (1, 0.002) if options.quick else (12, 0.06)
    peer = load(ROBOT)
    contact = ContactPeer(peer, FEET)
    for axes in ("frame", "to"):
        held = peer.robot.constrained(*(Contact(foot, "weld", axes=axes) for foot in FEET))
        args = states(held, BATCH)
        theirs = list(zip(peer.q_to_peer(args[0]), peer.v_to_peer(args[1]), peer.v_to_peer(args[2]), strict=True))
        a, force = held.forward_dynamics(*args)
        errors = []
        for i in range(CALLS):
            found = peer.v_from_peer(contact.accelerations(*theirs[i]))
            errors.append(np.abs(found - a[i]).max() / np.abs(found).max())
            if axes == "frame":
                errors.append(np.abs(contact.forces() - force[i]).max() / np.abs(force[i]).max())

        def repeated(theirs: list[tuple[np.ndarray, ...]] = theirs) -> None:
            for sample in theirs[:CALLS]:
                contact.accelerations(*sample)

        ours, t = steady(
            lambda held=held, args=args: held.forward_dynamics(*args), repeated, turns=turns, seconds=seconds
        )
        ratio = (t / CALLS) / (ours / BATCH)
        title = f"forward dynamics, both feet welded, axes of {axes!r}, batch of {BATCH}"
        bar = REPORT.beside(title, ROBOT, ours, t, per=(BATCH, CALLS))
        operations = sum(count(held.forward_dynamics.function.program()).values())
        print(
            f"{ROBOT}, both feet welded, axes of {axes!r}: {1e9 * ours / BATCH:.0f} ns per sample in a batch of "
            f"{BATCH}, Pinocchio {1e9 * t / CALLS:.0f} ns: {ratio:.1f}x{bar} | "
            f"{operations} operations | a and forces differ by {max(errors):.0e}, median {np.median(errors):.0e}"
        )
    return REPORT.finish()


if __name__ == "__main__":
    sys.exit(main())
