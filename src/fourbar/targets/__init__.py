"""Programs elsewhere: as C, as functions of other libraries. Each module is one target."""
