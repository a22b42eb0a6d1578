"""fourbar's native files, as JSON and as TOML: the same tables, lossless for every robot without Python functions."""

VERSION = 1
