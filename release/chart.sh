#!/usr/bin/env bash
# Packs the chart into a directory, and pushes it when a registry is named: release/chart.sh DIRECTORY [oci://REGISTRY/PATH]
# HELM_PUSH_ARGS is given to the push as it is, such as --plain-http.
set -euo pipefail
cd "$(dirname "$0")/.."

directory="${1:?Expected a directory for the packed chart}"
registry="${2:-}"
version="$(node release/version.mjs check)"
read -ra arguments <<<"${HELM_PUSH_ARGS:-}"

helm lint --strict k8s/gatehouse --set secrets.existingSecret=keys >/dev/null
helm package k8s/gatehouse --destination "$directory"
if [ -n "$registry" ]; then helm push "${arguments[@]}" "$directory/gatehouse-$version.tgz" "$registry"; fi
