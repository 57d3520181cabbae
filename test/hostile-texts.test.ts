import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { createSchemaCompiler } from '../src/adapter/node/json-schema.ts';
import { parseQuery } from '../src/agent/http/query.ts';
import { toModelFile } from '../src/agent/model/ai-sdk-input.ts';
import { expandTemplate } from '../src/agent/protocol/command-template.ts';
import { findMisspelledField } from '../src/agent/protocol/unknown-fields.ts';
import { readDecision } from '../src/bridge/answer/approvals/decisions.ts';
import { titleFor } from '../src/bridge/answer/turn-request.ts';
import { parseApprovalHeader } from '../src/bridge/openai/approvals.ts';
import { keyOfPassword, SCRYPT_COST } from '../src/console/accounts/password-hash.ts';
import { readForm } from '../src/core/http/body.ts';
import { createRoutes } from '../src/core/http/router.ts';
import { describe, sampled } from './check.ts';
import { STALL_LIMIT_MS } from './event-loop-stall.ts';
import { withoutComments } from './import-graph.ts';
import { createStopwatch } from './stopwatch.ts';

const SRC = join(import.meta.dirname, '../src');
/** The page runs in its reader's browser, eval and demo are for one machine, and main reads settings alone. */
const NOT_SERVED = /^(?:console\/page|eval|demo|main)\//;
const SOURCES: ReadonlyMap<string, string> = new Map(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !NOT_SERVED.test(file))
    .sort()
    .map((file) => [file, withoutComments(readFileSync(join(SRC, file), 'utf8'))]),
);

/** Functions of the platform that may take far longer for some texts, or lists, than for others of the same length. */
const FUNCTIONS: Readonly<Record<string, RegExp>> = {
  URLSearchParams: /new URLSearchParams\(/,
  URL: /new URL\(|URL\.canParse\(/,
  decodeURI: /decodeURI(?:Component)?\(/,
  Headers: /new Headers\(/,
  Intl: /\bIntl\.|\.localeCompare\(|\.toLocale\w+\(/,
  normalize: /\.normalize\('/,
  sort: /\.(?:sort|toSorted)\(/,
  RegExp: /new RegExp\(/,
};

/**
 * Where the text of each use comes from, with its largest size. A use that is new has to be placed here; if a client chooses its
 * length, it needs a case below, or in the test that is named.
 */
const PLACES: Readonly<Record<string, string>> = {
  'settings, configuration and texts of our own': `
    agent/adapter/mcp/transports.ts:URL adapter/node/http-client.ts:URL adapter/node/undici-client.ts:URL gateway/adapter/views/thread.ts:URL
    adapter/opentelemetry/settings.ts:URL+decodeURI adapter/opentelemetry/thread/sender.ts:URL gateway/adapter/redis/address.ts:URL+decodeURI
    agent/adapter/streaming-fetch.ts:URL agent/config/redacted.ts:URL agent/config/schema-values.ts:URL agent/config/validate.ts:sort agent/config/views.ts:sort
    agent/tools/mcp/client.ts:URL agent/tools/mcp/server-output.ts:sort agent/model/ai-sdk.ts:sort agent/model/call-span.ts:URL
    agent/model/http.ts:Headers agent/model/long-texts.ts:RegExp bridge/answer/approvals/text.ts:RegExp bridge/ids.ts:RegExp bridge/turns/agent/traced-post.ts:URL
    bridge/openai/responses/request.ts:Headers bridge/settings.ts:URL console/links/webhook.ts:URL
    console/services/secret-filter.ts:sort console/settings.ts:URL core/config.ts:URL core/http/tracing.ts:URL
    gateway/judge/chain/chain.ts:sort gateway/settings/variables.ts:URL
    relay-admin/relay/client.ts:URL relay-admin/settings.ts:URL`,
  'an address or a header: 16 KiB, as Node reads no longer heads': `
    agent/http/query.ts:URLSearchParams+decodeURI bridge/agent/servers.ts:URLSearchParams bridge/openai/approvals.ts:RegExp
    bridge/openai/conversations/page.ts:URL bridge/openai/responses/stored.ts:URL console/assets/page-routes.ts:URL
    console/routes/login.ts:Headers console/routes/sessions.ts:URLSearchParams+URL+sort
    console/services/agent-sessions.ts:URLSearchParams core/http/handler.ts:Headers core/http/router.ts:URL+decodeURI`,
  'a form: 32 KiB': 'core/http/body.ts:decodeURI',
  'a password: 1,024 characters': 'console/accounts/password-hash.ts:normalize',
  'an id, or the start of a text: 1,000 characters': `
    agent/adapter/mcp/connection-fetch.ts:URL agent/protocol/ids.ts:RegExp llm/refusal.ts:RegExp`,
  'a schema: 64 KiB': 'adapter/node/json-schema.ts:RegExp',
  'a list of at most some thousand entries': `
    agent/adapter/sqlite/reads.ts:sort agent/protocol/unknown-fields.ts:sort agent/session/retention.ts:sort agent/turn/step.ts:sort
    bridge/http/route.ts:sort bridge/openai/parameters.ts:sort bridge/turns/opencode/marks.ts:sort
    bridge/turns/opencode/place.ts:sort
    console/approvals/decisions.ts:sort
    console/approvals/open-approvals.ts:sort gateway/routes/verdict-headers.ts:sort
    relay-admin/models/views.ts:sort relay-admin/money.ts:sort relay-admin/recharge/balance-evidence.ts:sort
    relay-admin/tools/find-user.ts:sort`,
  // 100 ms for 50,000 names, which no model has been seen to write.
  "the input of a model's call: 1 MiB": 'core/json.ts:sort',
  'a body with at most 50,000 values': `
    agent/protocol/command-template.ts:sort agent/session/new-ids.ts:sort
    agent/turns/history/digests.ts:sort agent/turns/locate.ts:sort bridge/answer/approvals/decisions.ts:RegExp
    bridge/turns/opencode/history.ts:sort`,
  'a data URL of 9 MiB; test/agent/http/event-loop.test.ts': `
    agent/model/ai-sdk-input.ts:decodeURI agent/protocol/part-schemas.ts:decodeURI`,
  'a text of the bridge, 8 MiB; test/bridge/http/event-loop.test.ts':
    'bridge/stream/graphemes.ts:Intl core/text.ts:normalize',
  'a text that is judged, 1 MiB; test/gateway/routes/event-loop.test.ts': `
    gateway/text/decoders/bits.ts:sort gateway/text/decoders/ciphers.ts:RegExp gateway/text/decoders/spelling.ts:RegExp
    gateway/text/decoders/escapes.ts:RegExp gateway/routes/chat-texts/joined-text.ts:RegExp
    gateway/text/decoders/unicode.ts:Intl+normalize+RegExp gateway/text/invisible.ts:sort gateway/text/normalize.ts:normalize
    gateway/text/soft-hyphens.ts:normalize gateway/text/unusual.ts:RegExp`,
};

describe('functions of the platform that take a text of any length', (check) => {
  check('are used where it is known how long the text may be', () => {
    const used = [...SOURCES].flatMap(([file, text]) => {
      const names = Object.entries(FUNCTIONS).flatMap(([name, pattern]) => (pattern.test(text) ? [name] : []));
      return names.length === 0 ? [] : [`${file}:${names.join('+')}`];
    });
    const placed = Object.values(PLACES).flatMap((list) => list.trim().split(/\s+/));
    assert.equal(used.toSorted(), placed.toSorted());
  });
});

/** What costs most in some parser or expression: a unit, repeated. */
const UNITS = [
  ...[
    'a',
    '0',
    ' ',
    '\n',
    '\t',
    '%',
    '+',
    '=',
    '&',
    '/',
    '\\',
    '"',
    "'",
    '.',
    ',',
    ';',
    ':',
    '-',
    '_',
    '|',
    '!',
    '@',
    '#',
    '*',
  ],
  ...['(', '[', '[\\', '{', '<', '~', 'A', 'é', '漢', '\u0301', '😀', '\u200b', '\r', '`'],
  ...[
    'a&',
    '&a',
    'a=',
    '%41',
    '%F0',
    '\\"',
    'a ',
    ' a',
    ' \n',
    '\n ',
    'a.',
    '.a',
    '0,',
    'a-',
    '{"',
    '- ',
    '"a"',
    '"a" ',
    '[a]',
    '01',
    'A0',
    'a|',
    ' ,',
  ],
];
/** The quick run tries some of them on what reads millions of characters. */
const TRIED = sampled(UNITS, 6);
const long = (unit: string, chars: number): string => unit.repeat(Math.floor(chars / unit.length));

/** The least time that some calls take, until one takes no more than `enough`. */
const fastest = async (work: () => unknown, enough: number, tries = 5): Promise<number> => {
  let best = Number.POSITIVE_INFINITY;
  for (let each = 0; each < tries && best > enough; each += 1) {
    const elapsed = createStopwatch();
    try {
      await work();
    } catch {
      // To refuse it is an answer as well.
    }
    best = Math.min(best, elapsed());
  }
  return best;
};

const HEAD = 16_000;
const ROUTES = createRoutes(
  { '/session/:id/message/:messageID': { GET: () => new Response('') }, '/a/:token': { GET: () => new Response('') } },
  () => '',
);
const REQUEST = { id: 'per_1aaaaa', sessionID: 'ses_1', tool: 'pay', input: '{}', notes: [] };
const REQUESTS = { open: [REQUEST], shown: [REQUEST] };
const HASH = { ...SCRYPT_COST, salt: '', key: '' };
const SCHEMA = { type: 'object', entries: { parts: {}, model: {}, agent: {} } };
const compile = createSchemaCompiler();
const escaped = (text: string): string => encodeURI(text).replace(/%25(?=[0-9A-F]{2})/g, '%');

const NAMES = Object.fromEntries(Array.from({ length: 49_000 }, (_, at) => [`agen${at}`, at]));
const asked = (path: string): Request => new Request(`http://x${path}`);
const form = (text: string): Request =>
  new Request('http://x', {
    ...{ method: 'POST', body: text },
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
const READING = { limitBytes: 1_000_000, signal: new AbortController().signal };

/** Makes the largest text that is accepted of a unit. The function that it returns does what is done with the text. */
type Reader = (unit: string) => () => unknown;

const reader =
  <Text>(make: (unit: string) => Text, read: (text: Text) => unknown): Reader =>
  (unit) => {
    const text = make(unit);
    return () => read(text);
  };

const READERS: Readonly<Record<string, Reader>> = {
  'a query': reader(
    (unit) => asked(`/?${escaped(long(unit, HEAD / 3))}`),
    (request) => parseQuery(request).get('limit'),
  ),
  'a path': reader((unit) => asked(`/session/${escaped(long(unit, HEAD / 3))}`), ROUTES.handler),
  'a link': reader((unit) => asked(`/a/${escaped(long(unit.replaceAll('/', 'x'), HEAD / 3))}`), ROUTES.handler),
  'a decision in a header': reader(
    // No header has other characters.
    (unit) => new Headers({ 'x-approval': `approve a${long(unit.replace(/[^ -~]/g, ' '), HEAD)},b` }),
    parseApprovalHeader,
  ),
  'a form': (unit) => () => readForm(form(long(unit, 32_000)), READING),
  'a password': reader(
    (unit) => long(unit, 1024),
    (text) => keyOfPassword(text, HASH, async (key) => key),
  ),
  'a pattern of a schema': reader((unit) => ({ type: 'string', pattern: long(unit, 60_000) }), compile),
  'a name of a pattern in a schema': reader((unit) => ({ patternProperties: { [long(unit, 60_000)]: {} } }), compile),
  'a media type': reader((unit) => ({ mime: `image/png${long(unit, 190)}`, url: 'data:a/b;base64,AAAA' }), toModelFile),
  'a file of text': reader(
    (unit) => ({ mime: 'text/plain', url: `data:text/plain,${long(unit, 3_000_000)}` }),
    toModelFile,
  ),
  'a title': reader(
    (unit) => [{ role: 'user', parts: [{ type: 'text', text: long(unit, 8_000_000) }] } as const],
    titleFor,
  ),
  'a decision in a text': reader(
    (unit) => `approve ${long(unit, 8_000_000)}`,
    (text) => readDecision({ decisions: undefined, text }, REQUESTS),
  ),
  'a text that is no decision': reader(
    (unit) => long(unit, 8_000_000),
    (text) => readDecision({ decisions: undefined, text }, REQUESTS),
  ),
  'arguments of a command': reader(
    (unit) => long(unit, 1_048_576),
    (text) => expandTemplate('$1 and $2', text),
  ),
  'unknown names': () => () => findMisspelledField(SCHEMA, NAMES),
};

describe('a text of the largest size', (check) => {
  for (const [name, read] of Object.entries(READERS))
    check(`takes no more than ${STALL_LIMIT_MS} ms, however hostile: ${name}`, async () => {
      for (const unit of TRIED) {
        const ms = await fastest(read(unit), STALL_LIMIT_MS);
        assert.ok(ms <= STALL_LIMIT_MS, `${JSON.stringify(unit)} took ${Math.round(ms)} ms`);
      }
    });
});

/** Literals of regular expressions, each with the files that have it. A quotient that looks like one does not compile. */
const LITERAL =
  /(?<=[(,=:[!&|?{};]\s*|\breturn\s+|=>\s*)\/(?![*/])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([dgimsuvy]*)/g;
const compiled = (source: string, flags: string): RegExp | undefined => {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
};
const EXPRESSIONS: ReadonlyMap<string, RegExp> = new Map(
  [...SOURCES.values()].flatMap((text) =>
    [...text.matchAll(LITERAL)].flatMap(([literal, source = '', flags = '']) => {
      const expression = compiled(source, flags);
      return expression === undefined ? [] : [[literal, expression] as const];
    }),
  ),
);

/** Those that take quadratic time for some text, and why that text never is a long one. */
const QUADRATIC: Readonly<Record<string, string>> = {
  '/ +\\S*$/': 'a title, cut before to its 1,000 first characters, in which blanks are single',
  '/\\s*;/': 'a media type, whose schema allows 200 characters',
  '/\\s*,\\s*/': 'the ids of a header, which have the right form by then; "a decision in a header" above',
  '/\\\\.|\\[(?:\\\\.|[^\\]\\\\])*\\]|\\(\\?|[()|?*+]|\\{\\d+(?:,\\d*)?\\}/gsu':
    'a pattern that compiles, so each bracket is closed; "a pattern of a schema" above',
  '/\\n\\s+at (.+)/': 'a stack of Node, without its message',
  '/\\/+$/': 'an address in the settings',
  '/^(?:[\\da-f]{6,}|(?:\\d+[a-z]{1,3})+|[a-z]1[01][a-z]|[a-z]+\\d+k|.*4j.*|ipv4\\w*|@\\w+|\\w+@(?:latest|next)|.*!!.*)$/i':
    'a token of one line: there the first "!!" is enough',
  '/0+$/': 'the decimals of an amount: eight digits',
};

const SHORT_CHARS = 2000;
const LONG_CHARS = 8000;
/** What a quadratic expression takes at least for the long text; a linear one takes less than a thousandth of a millisecond. */
const QUADRATIC_MS = 10;

describe('a regular expression', (check) => {
  check(`takes linear time, or is never given a long text (${EXPRESSIONS.size} of them)`, async () => {
    assert.ok(EXPRESSIONS.size > 500, `found ${EXPRESSIONS.size}`);
    const slow: string[] = [];
    for (const [literal, expression] of EXPRESSIONS) {
      const timeFor = (text: string, enough: number) => fastest(() => text.search(expression), enough, 3);
      for (const unit of UNITS) {
        const end = '\0!\n\x01';
        if ((await timeFor(long(unit, SHORT_CHARS) + end, QUADRATIC_MS / 20)) <= QUADRATIC_MS / 20) continue;
        if ((await timeFor(long(unit, LONG_CHARS) + end, QUADRATIC_MS)) <= QUADRATIC_MS) continue;
        slow.push(literal);
        break;
      }
    }
    assert.equal(slow.toSorted(), Object.keys(QUADRATIC).toSorted());
  });
});
