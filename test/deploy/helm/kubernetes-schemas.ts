import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import type { Manifest } from './world.ts';

type Schemas = { readonly kinds: Readonly<Record<string, string>>; readonly $defs: Readonly<Record<string, unknown>> };

const schemasOf = (name: string): Schemas =>
  JSON.parse(readFileSync(join(import.meta.dirname, `kubernetes-schemas/${name}.json`), 'utf8'));

/** Where something is null. The API takes that for absent; in a template it means that a value was forgotten. */
const nullsIn = (part: unknown, at = ''): readonly string[] => {
  if (part === null) return [`${at} is null`];
  if (typeof part !== 'object') return [];
  return Object.entries(part ?? {}).flatMap(([name, value]) => nullsIn(value, `${at}/${name}`));
};

/** Tells what is wrong with an object by the schemas of one version of Kubernetes. An unknown field is wrong, too. */
export const createManifestCheck = (version: string): ((manifest: Manifest) => readonly string[]) => {
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  const checkOf = new Map<string, ValidateFunction>(
    [`v${version}`, 'monitoring'].flatMap((name) => {
      const { kinds, $defs } = schemasOf(name);
      ajv.addSchema({ $id: name, $defs });
      return Object.entries(kinds).map(
        ([kind, def]) => [kind, ajv.compile({ $ref: `${name}#/$defs/${def}` })] as const,
      );
    }),
  );
  return (manifest) => {
    const kind = `${manifest.apiVersion}/${manifest.kind}`;
    const isValid = checkOf.get(kind);
    if (isValid === undefined) return [`no schema for ${kind}`];
    isValid(manifest);
    const faults = (isValid.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
    return [...faults, ...nullsIn(manifest)].map((fault) => `${kind} ${fault}`);
  };
};
