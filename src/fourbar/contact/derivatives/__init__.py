"""Derivatives of a step with contacts: the equations that a step solves are differentiated, not its solver.

With the impulses λ and the mean accelerations a of a step known, and M̃ = M + dt D + dt² K, these hold:

    r = ID(q, v, a) - forces - Jᵀ λ / dt = 0                    known_step
    λ = P(λ - D⁻¹ c, b),  c = J v⁺ + bias + R λ                 modes: P is the natural map, b its bounds
    q⁺, v⁺ = end(q, v, a)                                       known_step

Along any direction, with δr, δc the changes at fixed a and λ, δu = -M̃⁻¹ δr:

    (1 - P′ + P′ D⁻¹ G) δλ = -P′ D⁻¹ (δc + dt J δu) + P_b δb    response
    δa = δu + M̃⁻¹ Jᵀ δλ / dt

The matrix is that of the solver's own Newton step. Forwards (jvp, Jacobian) r, c and b are pushed along directions;
backwards (vjp) they are pulled once, with weights that follow from the transposed equations.
"""
