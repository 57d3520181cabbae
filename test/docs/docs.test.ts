import * as assert from 'uvu/assert';
import { readProxySettings } from '../../src/adapter/node/undici-client.ts';
import { internalErrorResponse } from '../../src/core/http/response.ts';
import { createPrometheusGatewayMetrics } from '../../src/gateway/adapter/prometheus.ts';
import { type GatewayFault, gatewayErrorResponse } from '../../src/gateway/errors.ts';
import { contextTokensFor } from '../../src/gateway/judge/prompt.ts';
import { DEFAULT_POLICY } from '../../src/gateway/policy/policy.ts';
import { GatewayVariables } from '../../src/gateway/settings/variables.ts';
import { splitWindows } from '../../src/gateway/text/normalize.ts';
import { describe } from '../check.ts';
import { brokenLinksIn, decisions, defaultsOf, read, tableOfVariables, unique } from './pages.ts';

const PAGE = read('docs/moderation-gateway.md');
const EXAMPLE = read('.env.example');

const PROXIES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'];
/** Every variable of the gateway with its default, `none` where there is nothing. */
const DEFAULTS: readonly string[] = [
  ...defaultsOf(GatewayVariables.entries),
  ...PROXIES.map((name) => `${name}=none`),
].sort();
const NAMES = DEFAULTS.map((line) => line.split('=')[0]);

const SETTING = /^#?([A-Z][A-Z0-9_]*)=/;

/** The settings of the example file, each with the default that the comment right above it tells. */
const exampleVariables = (): string[] => {
  const lines = EXAMPLE.split('\n');
  return lines.flatMap((line, index) => {
    const name = SETTING.exec(line)?.[1];
    const reported = /^# .*Default: (\S+)$/.exec(lines[index - 1] ?? '')?.[1];
    return name === undefined ? [] : [`${name}=${reported}`];
  });
};

/** All but what only services with sessions answer. */
type AnsweredFault = Exclude<GatewayFault['kind'], 'conflict'>;

/** One fault of each kind: the compiler asks for the next one here. */
const FAULTS: { readonly [Kind in AnsweredFault]: Extract<GatewayFault, { readonly kind: Kind }> } = {
  unauthorized: { kind: 'unauthorized' },
  'bad-input': { kind: 'bad-input', code: 'invalid_json', param: null, message: '' },
  'unjudged-input': { kind: 'unjudged-input', code: 'image_unsupported', param: '', message: '' },
  'unjudged-text': { kind: 'unjudged-text', message: '' },
  'model-not-found': { kind: 'model-not-found', valid: [] },
  'not-found': { kind: 'not-found', hint: '' },
  'method-not-allowed': { kind: 'method-not-allowed', allow: [] },
  'body-too-large': { kind: 'body-too-large', limitBytes: 1 },
  'body-too-slow': { kind: 'body-too-slow' },
  'unsupported-media-type': { kind: 'unsupported-media-type' },
  'rate-limited': { kind: 'rate-limited', retryAfterMs: 1 },
  unavailable: { kind: 'unavailable', message: '', retryAfterMs: 1 },
  overloaded: { kind: 'overloaded', retryAfterMs: 1 },
  'no-backend-key': { kind: 'no-backend-key', retryAfterMs: 1 },
  'backend-error': { kind: 'backend-error', reason: '' },
  'backend-unusable': { kind: 'backend-unusable', reason: '' },
  'backend-timeout': { kind: 'backend-timeout' },
  'client-left': { kind: 'client-left' },
};

/** Error rows of the page: `status code`. A status without a body has the code `none`. */
const errorRows = (): string[] =>
  [...PAGE.matchAll(/^\| ([45]\d\d) \| (?:`([a-z_]+)`|none) \|/gm)].map(
    ([, status, code]) => `${status} ${code ?? 'none'}`,
  );

const rowOf = async (reply: Response): Promise<string> => {
  const text = await reply.text();
  return `${reply.status} ${text === '' ? 'none' : (JSON.parse(text) as { error: { code: string } }).error.code}`;
};

/** Codes of bad input stand where the input is read. */
const badInputCodes = (): string[] =>
  [
    'src/core/http/body.ts',
    'src/core/http/router.ts',
    'src/gateway/routes/request.ts',
    'src/gateway/routes/guard-face/answer-form.ts',
  ].flatMap((file) =>
    [...read(file).matchAll(/(?:\bbad(?:Input)?\(\s*|\bunjudged\('\w+', |\bcode: )'([a-z_]+)'/g)].map(
      ([, code]) => `400 ${code}`,
    ),
  );

describe('the settings in the docs', (check) => {
  check('are those that the gateway reads, with their defaults', () => {
    assert.equal(tableOfVariables(PAGE).sort(), DEFAULTS);
  });
  check('are those of .env.example, with the same defaults', () => {
    assert.equal(exampleVariables().sort(), DEFAULTS);
  });
  check('hold every proxy variable that is obeyed', () => {
    const proxy = 'http://proxy.test:3128';
    for (const name of PROXIES) assert.equal(Object.values(readProxySettings({ [name]: proxy })), [proxy]);
  });
  check('show the context that Ollama is asked for, and the calls of a long text', () => {
    const rows = [...PAGE.matchAll(/^\| (\d+) \| (\d+) \| (\d+) \|$/gm)].map((row) => row.slice(1).map(Number));
    const ours = rows.map(([window = 0]) => [
      window,
      contextTokensFor(window, [DEFAULT_POLICY]),
      splitWindows('a'.repeat(100_000), window).length,
    ]);
    assert.ok(rows.length > 2);
    assert.equal(rows, ours);
  });
  check('name no variable of another name anywhere', () => {
    const named = [PAGE, EXAMPLE, read('README.md'), read('CHANGELOG.md')].flatMap((text) => [
      ...text.matchAll(/\b(?:MODERATION|BACKEND|CACHE|MAX|REDIS|RATE|REQUEST|HEDGE|UNJUDGED)_[A-Z_]+\b/g),
    ]);
    assert.equal(
      unique(named.map(([name]) => name)).filter((name) => !NAMES.includes(name)),
      [],
    );
  });
});

describe('.env.example', (check) => {
  check('has nothing behind a value, which docker would take for a part of it', () => {
    const lines = EXAMPLE.split('\n').filter((line) => SETTING.test(line));
    assert.ok(lines.length > 20);
    assert.equal(
      lines.filter((line) => /\s/.test(line)),
      [],
    );
  });
  check('has no quotes around a value, which docker would keep', () => {
    assert.equal(
      EXAMPLE.split('\n').filter((line) => SETTING.test(line) && /=['"]/.test(line)),
      [],
    );
  });
  check('has nothing but comments and settings in it', () => {
    const odd = EXAMPLE.split('\n').filter((line) => line !== '' && !/^# /.test(line) && !SETTING.test(line));
    assert.equal(odd, []);
  });
});

describe('the errors in the docs', (check) => {
  check('are those that the service answers with, under their status', async () => {
    const replies = await Promise.all(
      [...Object.values(FAULTS).map(gatewayErrorResponse), internalErrorResponse()].map(rowOf),
    );
    // The one answer that is made before there is a service.
    const misconfigured = /code: '(misconfigured)'/.exec(read('src/gateway/adapter/worker.ts'))?.[1];
    assert.equal(unique(errorRows()), unique([...replies, ...badInputCodes(), `500 ${misconfigured}`]));
  });
  check('find the codes of bad input', () => assert.ok(unique(badInputCodes()).length >= 9));
});

describe('the metrics in the docs', (check) => {
  check('are those that the gateway exports', async () => {
    const meter = createPrometheusGatewayMetrics({ version: '0', isSharedStateUp: () => true });
    const exported = [...((await meter.text()) ?? '').matchAll(/^# TYPE (gatehouse_\w+)/gm)].map(
      ([, name = '']) => name,
    );
    const listed = [...PAGE.matchAll(/^\| `(gatehouse_\w+)` \|/gm)].map(([, name = '']) => name);
    assert.ok(exported.length > 10);
    assert.equal(listed.toSorted(), exported.toSorted());
  });
  check('are named nowhere by another name', () => {
    const files = [
      'README.md',
      'ARCHITECTURE.md',
      'docs/agent-server.md',
      'docs/moderation-gateway.md',
      ...decisions(),
    ];
    const pages = [PAGE, read('docs/agent-server.md')];
    const listed = new Set(
      pages.flatMap((page) => [...page.matchAll(/^\| `(gatehouse_\w+)` \|/gm)].map(([, name]) => name)),
    );
    const named = files.flatMap((file) => [...read(file).matchAll(/\bgatehouse_\w+/g)].map(([name]) => name));
    assert.equal(
      unique(named).filter((name) => !listed.has(name)),
      [],
    );
  });
});

describe('the docs', (check) => {
  for (const file of [
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'docs/agent-server.md',
    'docs/moderation-gateway.md',
    'docs/relay-admin.md',
    ...decisions(),
  ]) {
    check(`${file} has no relative link that leads nowhere`, () => assert.equal(brokenLinksIn(file), []));
  }
  check('have links to find', () => {
    assert.ok([...read('README.md').matchAll(/\]\([^)]+\.md\)/g)].length > 0);
    for (const page of [PAGE, read('docs/agent-server.md'), read('docs/relay-admin.md')])
      assert.ok([...page.matchAll(/\]\(#[^)]+\)/g)].length > 10);
  });
  check('keep a decision to a name with its date and to three parts', () => {
    for (const file of decisions()) {
      assert.match(file, /\/\d{4}-\d\d-\d\d-[a-z0-9.-]+\.md$/);
      const parts = [...read(file).matchAll(/^## (.+)$/gm)].map(([, title]) => title);
      assert.equal(parts, ['Context', 'Decision', 'Consequences'], file);
    }
  });
});
