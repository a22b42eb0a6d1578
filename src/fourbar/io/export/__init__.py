"""Writing formats that cannot say everything. What changes the dynamics is refused, what does not is reported."""
