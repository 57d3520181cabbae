import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { goProgram } from '../go-programs.ts';

export const ROOT = resolve(import.meta.dirname, '../../..');
export const CHART = join(ROOT, 'k8s/gatehouse');
/** The version of the package, which is the chart's, too. */
export const VERSION: string = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;

export const HELM = goProgram('helm', ['version', '--short'], /^v3\./);
/** What `check.needing` asks for. */
export const MISSING = HELM === undefined ? 'helm 3' : undefined;

type Ran = { readonly status: number | null; readonly stdout: string; readonly stderr: string };

/** Runs helm, with what it may read as a file of values on its input. */
export const helm = (args: readonly string[], input = ''): Ran =>
  spawnSync(HELM ?? 'helm', args, { encoding: 'utf8', input, env: { ...process.env, KUBECONFIG: '/dev/null' } });

export type Values = { readonly [name: string]: unknown };

export const OLDEST = '1.30';
export const NEWEST = '1.37';

type Place = { readonly chart?: string; readonly release?: string };

const ran = new Map<string, Ran>();

/** Renders the chart with these values, and with `--set` lines as a user types them. Asks helm once for the same. */
export const template = (
  values: Values,
  more: readonly string[] = [],
  { chart = CHART, release = 'demo' }: Place = {},
): Ran => {
  const asked = JSON.stringify([values, more, release]);
  const known = chart === CHART ? ran.get(asked) : undefined;
  if (known !== undefined) return known;
  const rendered = helm(
    ['template', release, chart, '--namespace', 'moderation', '--kube-version', OLDEST, '-f', '-', ...more],
    JSON.stringify(values),
  );
  if (chart === CHART) ran.set(asked, rendered);
  return rendered;
};

/** An object of Kubernetes as far as these tests look into it. */
// biome-ignore lint/suspicious/noExplicitAny: a rendered object has any shape, and its schema is checked elsewhere
export type Manifest = { readonly [name: string]: any };

/** The objects in a text. Read as YAML 1.1, as Kubernetes does: there `off` without quotes is no text. */
export const manifestsIn = (text: string): readonly Manifest[] =>
  parseAllDocuments(text, { version: '1.1', uniqueKeys: true })
    .map((document) => {
      if (document.errors.length > 0) throw document.errors[0];
      return document.toJS() as Manifest | null;
    })
    .filter((manifest) => manifest !== null);

const made = new Map<string, readonly Manifest[]>();

/** The objects that these values make. Fails with the words of helm if it refuses them. */
export const manifests = (values: Values, more: readonly string[] = []): readonly Manifest[] => {
  const asked = JSON.stringify([values, more]);
  const known = made.get(asked);
  if (known !== undefined) return known;
  const { status, stdout, stderr } = template(values, more);
  if (status !== 0) throw new Error(stderr);
  const all = manifestsIn(stdout);
  made.set(asked, all);
  return all;
};

/** What helm says to values that it refuses. */
export const refusal = (values: Values, more: readonly string[] = []): string => {
  const { status, stderr } = template(values, more);
  if (status === 0) throw new Error('Expected a refusal, but the chart was rendered');
  return stderr;
};

export const COMPONENT = 'app.kubernetes.io/component';
export const containerOf = ({ spec }: Manifest): Manifest => spec.template.spec.containers[0];

/** The one object of a kind, of one service where there are several. */
export const only = (all: readonly Manifest[], kind: string, service?: string): Manifest => {
  const found = all.filter(
    ({ kind: its, metadata }) => its === kind && [undefined, metadata.labels[COMPONENT]].includes(service),
  );
  const [first] = found;
  if (first === undefined || found.length > 1) throw new Error(`Expected one ${kind}, found ${found.length}`);
  return first;
};
export const kindsOf = (all: readonly Manifest[]): readonly string[] => all.map(({ kind }) => String(kind)).sort();

/** The variables of a Deployment's container: a text, or `secret/key`, also where a text names a variable: `$(NAME)`. */
export const variablesOf = (deployment: Manifest): Readonly<Record<string, string>> => {
  const texts: Record<string, string> = {};
  for (const { name, value, valueFrom } of containerOf(deployment).env)
    texts[name] =
      value?.replace(/\$\((\w+)\)/g, (text: string, other: string) => texts[other] ?? text) ??
      `${valueFrom.secretKeyRef.name}/${valueFrom.secretKeyRef.key}`;
  return texts;
};

/** What the container's variables are once the kubelet has put texts from Secrets in. */
export const filled = (deployment: Manifest): Readonly<Record<string, string>> => {
  const fromSecrets: Readonly<Record<string, string>> = {
    BACKEND_API_KEYS: 'backend-one,backend-two',
    MODERATION_API_KEYS: 'client-one',
    REDIS_URL: 'redis://redis:6379',
    AGENT_DATABASE_URL: 'postgres://gatehouse:secret@postgres:5432/gatehouse',
    RELAY_ADMIN_API_KEY: `admin-${'0'.repeat(64)}`,
    CONSOLE_SECRET: 'a-secret-of-at-least-thirty-two-characters',
    CONSOLE_USERS: 'ann:admin:scrypt.16384.8.5.c2FsdHNhbHRzYWx0c2FsdA.aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g',
  };
  const texts = Object.entries(variablesOf(deployment)).map(([name, text]) => {
    const isReference = /^[a-z-]+\/[A-Za-z_]+$/.test(text);
    return [name, isReference ? (fromSecrets[name] ?? 'a-secret') : text];
  });
  return Object.fromEntries(texts);
};

/** Names that a text of the agent's configuration takes from the environment. */
export const namesIn = (text: string): readonly string[] =>
  [...text.matchAll(/\{env:(\w+)\}/g)].map(([, name = '']) => name);
/** The agent's configuration as it is mounted. */
export const agentTextIn = (all: readonly Manifest[]): string => only(all, 'ConfigMap', 'agent').data['agent.json'];
