"""Writes the schemas beside this file out of a wheel of kubernetes-validate: pip download --no-deps kubernetes-validate==1.37.0
Usage: python3 trim.py kubernetes_validate-1.37.0-py3-none-any.whl && npx biome check --write ."""
import json
import pathlib
import sys
import zipfile

VERSIONS = ["1.30", "1.37"]
KINDS = {
    "apps/v1/Deployment": "io.k8s.api.apps.v1.Deployment",
    "autoscaling/v2/HorizontalPodAutoscaler": "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    "networking.k8s.io/v1/Ingress": "io.k8s.api.networking.v1.Ingress",
    "networking.k8s.io/v1/NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
    "policy/v1/PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "v1/ConfigMap": "io.k8s.api.core.v1.ConfigMap",
    "v1/PersistentVolumeClaim": "io.k8s.api.core.v1.PersistentVolumeClaim",
    "v1/Secret": "io.k8s.api.core.v1.Secret",
    "v1/Service": "io.k8s.api.core.v1.Service",
    "v1/ServiceAccount": "io.k8s.api.core.v1.ServiceAccount",
}


def without_prose(part):
    """A field may be called description itself: only texts are prose."""
    if isinstance(part, list):
        return [without_prose(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        name: without_prose(value)
        for name, value in part.items()
        if not (name == "description" and isinstance(value, str)) and not name.startswith("x-kubernetes-")
    }


def names_in(part):
    if isinstance(part, list):
        return {name for item in part for name in names_in(item)}
    if not isinstance(part, dict):
        return set()
    own = {part["$ref"].split("/")[-1]} if isinstance(part.get("$ref"), str) else set()
    return own.union(*(names_in(value) for value in part.values()))


def reached(definitions):
    found, ahead = set(), set(KINDS.values())
    while ahead:
        found |= ahead
        ahead = {name for known in ahead for name in names_in(definitions[known])} - found
    return {name: without_prose(definitions[name]) for name in sorted(found)}


with zipfile.ZipFile(sys.argv[1]) as wheel:
    for version in VERSIONS:
        member = f"kubernetes_validate/kubernetes-json-schema/v{version}.0-local-strict/_definitions.json"
        definitions = json.loads(wheel.read(member))["$defs"]
        target = pathlib.Path(__file__).with_name(f"v{version}.json")
        target.write_text(json.dumps({"kinds": KINDS, "$defs": reached(definitions)}, indent=2) + "\n")
