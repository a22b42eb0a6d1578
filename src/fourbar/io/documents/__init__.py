"""JSON, TOML and YAML as Python data with line numbers; read strictly."""

from .json import read_json
from .lines import Document, DocumentLines
from .toml import read_toml
from .yaml import read_yaml

__all__ = ["Document", "DocumentLines", "read_json", "read_toml", "read_yaml"]
