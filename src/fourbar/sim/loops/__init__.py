"""Loops that are solved while moving: independent velocities, folds, and steps near singular positions."""
