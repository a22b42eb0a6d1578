"""Contacts: what touches what, the law of its forces, and the step in time that keeps both.

A step goes from q, v to q⁺, v⁺; v are velocities of joints, c those of the rows J of contacts, limits and constraints:

    free motion   v* = v + dt M̃⁻¹ (forces),   M̃ = M + dt D + dt² K          contact_step, implicit_forces
    contacts      gap φ, normal and point of each candidate                  shapes, boxes, capsules, terrain
    problem       c = G λ + g,   G = J M̃⁻¹ Jᵀ,   g = J v* + bias            laws, impacts, joint_step
                  0 ≤ λₙ ⟂ cₙ ≥ 0,   |λₜ| ≤ μ λₙ,   lower ≤ c ≤ upper        gauss_seidel
    solution      λ = P(λ - D⁻¹ c), the natural map; residual D (P - λ)      newton, impulse_solver
    end           v⁺ = v* + M̃⁻¹ Jᵀ λ,   q⁺ = q ⊕ dt v⁺                      integration

Up to 18 rows G is formed and eliminated (`DenseRows`). More are solved over the joints (`JointRows`): a block yields to
the change v of its velocities by δ = own - K v, so that with its rows C over wrenches B of links

    (M̃ + Bᵀ S B) dv = Bᵀ f,   S = Σ Cᵀ K C,   f = Σ Cᵀ own                  articulated_system, link_motions

is a pass of the articulated-body algorithm, to which contacts of a link are one inertia that need not be symmetric.
λ is redundant where contacts are: of all with the same effect the least in Σ D λ² is taken (`least_norm`).
The phases of the solver and their settings are in `impulse_solver`, its interior point in `interior` and
`interior_solver`. MuJoCo's law minimises a convex function instead: `soft_law`, `soft_step`, `cones`.
"""

from ..lazy import lazy
from .laws import Compliant as Compliant
from .laws import Rigid as Rigid
from .shapes import Shape as Shape
from .soft_law import MuJoCo as MuJoCo
from .solid_terrain import Solid as Solid
from .step_problem import StepProblem as StepProblem
from .terrain import HeightField as HeightField
from .terrain import Plane as Plane
from .terrain import SignedDistance as SignedDistance

lazy()
