#!/usr/bin/env bash
# Builds the image of each service for amd64 and arm64, as one name for both: release/images.sh PREFIX [--push]
# PREFIX is what stands before -gateway:v0.1.0, such as ghcr.io/someone/gatehouse. Without --push it only builds.
# PLATFORMS chooses others, BUILD_ARGS is given to the builds as it is, SBOM=false leaves out the SBOM of the image, whose
# scanner comes from Docker Hub. Only the stage that bundles runs anything, on the machine's own platform: nothing is emulated.
set -euo pipefail
cd "$(dirname "$0")/.."

prefix="${1:-}"
if [ -z "$prefix" ]; then
  echo 'Usage: release/images.sh PREFIX [--push]; PREFIX is such as ghcr.io/someone/gatehouse' >&2
  exit 1
fi
output=--output=type=cacheonly
if [ "${2:-}" = --push ]; then output=--push; fi
platforms="${PLATFORMS:-linux/amd64,linux/arm64}"
version="v$(node release/version.mjs check)"
read -ra arguments <<<"${BUILD_ARGS:-}"

while read -r target; do
  case "$target" in service | listening) continue ;; esac
  image="$prefix-$target:$version"
  docker buildx build --platform "$platforms" "${arguments[@]}" --target "$target" --tag "$image" \
    --provenance=mode=max --sbom="${SBOM:-true}" "$output" .
  echo "$image"
done < <(sed -n 's/^FROM [a-z]* AS \([a-z-]*\)$/\1/p' Dockerfile)
