#!/usr/bin/env bash
# Writes what is attached to a release into a directory: the package, the chart, the SBOM, the notes and the checksums.
set -euo pipefail
cd "$(dirname "$0")/.."

directory="${1:?Expected a directory for the files of the release}"
version="$(node release/version.mjs check)"
# First: a build empties dist, where the directory may be.
npm run --silent build >/dev/null
mkdir -p "$directory"
node release/notes.mjs "$version" >"$directory/notes.md"
npm pack --silent --ignore-scripts --pack-destination "$directory" >/dev/null
mv "$directory/gatehouse-llm-gatehouse-$version.tgz" "$directory/gatehouse-npm-$version.tgz"
release/chart.sh "$directory" >/dev/null
mv "$directory/gatehouse-$version.tgz" "$directory/gatehouse-chart-$version.tgz"
node supply/sbom.mjs "$directory/gatehouse-$version.cdx.json"
(cd "$directory" && sha256sum -- *.tgz *.json >SHA256SUMS)
