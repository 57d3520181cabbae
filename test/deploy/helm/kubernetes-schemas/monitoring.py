"""Writes monitoring.json beside this file out of a checkout of prometheus-operator, whose CRDs hold the schemas.
Usage: python3 monitoring.py CHECKOUT && npx biome check --write ."""
import json
import pathlib
import sys

import yaml

KINDS = {"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"}
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
METADATA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "namespace": {"type": "string"}, "labels": TEXTS, "annotations": TEXTS},
}


def trimmed(part):
    """Without prose; an object refuses what it does not know, as a server-side dry run does."""
    if isinstance(part, list):
        return [trimmed(item) for item in part]
    if not isinstance(part, dict):
        return part
    kept = {
        name: trimmed(value)
        for name, value in part.items()
        if not (name == "description" and isinstance(value, str)) and name != "default" and not name.startswith("x-kubernetes-")
    }
    if kept.get("type") == "object" and "properties" in kept:
        kept.setdefault("additionalProperties", False)
    # Go's own way to write that case does not count, which no other engine reads; and a pattern that is for one type of several.
    if str(kept.get("pattern", "")).startswith("^(?i)") or "anyOf" in kept:
        kept.pop("pattern", None)
    return kept


def schema_of(checkout, plural):
    file = checkout / f"example/prometheus-operator-crd/monitoring.coreos.com_{plural}.yaml"
    [version] = [one for one in yaml.safe_load(file.read_text())["spec"]["versions"] if one["name"] == "v1"]
    schema = trimmed(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"$ref": "#/$defs/metadata"}
    return schema


checkout = pathlib.Path(sys.argv[1])
schemas = {kind: schema_of(checkout, plural) for kind, plural in KINDS.items()}
result = {
    "kinds": {f"monitoring.coreos.com/v1/{kind}": kind for kind in KINDS},
    "$defs": {**schemas, "metadata": METADATA},
}
pathlib.Path(__file__).with_name("monitoring.json").write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
