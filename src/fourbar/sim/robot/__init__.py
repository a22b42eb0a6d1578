"""Motions of a robot alone: Runge-Kutta steps."""
