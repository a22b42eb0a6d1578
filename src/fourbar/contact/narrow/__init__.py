"""The narrow phase: how far two convex shapes are apart, along which normal, and where they touch.

separation   gap, normal and nearest points by GJK, with bounds from both sides
gjk          the point of a simplex that is nearest to the origin
normals      where Newton's method expects the normal
pair         what is asked of both shapes, in the axes of the first
"""
