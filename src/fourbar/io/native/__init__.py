"""fourbar's own file, as JSON and as TOML: the same tables, lossless for every robot without Python functions."""

VERSION = 1
