#!/usr/bin/env bash
# Publishes the package to npm. Without --publish it does everything but send: npm's dry run.
# With GITHUB_REPOSITORY the package names that repository, which npm's provenance compares with where it was built. There is no
# token: in a workflow npm asks GitHub which one it is, and elsewhere it takes the account that has logged in.
set -euo pipefail
cd "$(dirname "$0")/.."

node release/version.mjs check >/dev/null
if [ -n "${GITHUB_REPOSITORY:-}" ]; then
  # In the runner's checkout alone; the file is put back.
  trap 'git checkout -q -- package.json' EXIT
  npm pkg set repository.type=git repository.url="git+https://github.com/$GITHUB_REPOSITORY.git"
fi
# A version such as 1.0.0-rc.1 is not what `npm install` is to give.
tag=latest
case "$(node -p 'require("./package.json").version')" in *-*) tag=next ;; esac
if [ "${1:-}" = --publish ]; then
  # npm 11.5.1 and Node 22.14 are the first to publish without a token.
  PATH="$PWD/node_modules/.bin:$PATH"
  if [ "$(printf '11.5.1\n%s\n' "$(npm --version)" | sort -V | head -n 1)" != 11.5.1 ]; then
    echo "npm $(npm --version): expected 11.5.1 or newer, which publishes without a token. Run: npm install --global npm@11" >&2
    exit 1
  fi
  npm publish ${GITHUB_ACTIONS:+--provenance} --access public --tag "$tag"
else
  npm publish --dry-run --access public --tag "$tag"
fi
