"""YAML as people expect it: 1e-3 is a number, a duplicate key is an error, and nothing in a file is executed."""

from __future__ import annotations

import re
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """yaml's safe loader, which also reads 1e-3 as a number; YAML 1.1 requires 1.0e-3."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Reject duplicate keys, of which yaml would silently take the last.

        Only keys as written in the file are checked: merging (``<<``) may later add a key that the mapping has, and the
        mapping's own value then takes precedence.
        """
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.composer.ComposerError(None, None, f"duplicate key {key.value!r}", key.start_mark)
                seen.add(key.value)
        return node


class _Dumper(yaml.SafeDumper):
    """yaml's safe dumper, which quotes a string that the loader would read as a number."""


_FLOAT = re.compile(r"^[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?$|^[-+]?\.(inf|Inf|INF)$|^\.(nan|NaN|NAN)$")
for _kind in (_Loader, _Dumper):
    _kind.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:float"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    _kind.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


def load(text: str) -> Any:
    """Parse YAML; a duplicate key is an error.

    >>> load("{lr: 1e-3, steps: 10, name: scornn, on_plateau: null}")
    {'lr': 0.001, 'steps': 10, 'name': 'scornn', 'on_plateau': None}
    """
    return yaml.load(text, Loader=_Loader)  # a subclass of SafeLoader


def dump(value: Any) -> str:
    """Return a value as YAML, with keys in the order of the mapping.

    >>> load(dump({"folder": "1e5", "lr": 1e-10}))
    {'folder': '1e5', 'lr': 1e-10}
    """
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
