import * as assert from 'uvu/assert';
import { createPrometheusBridgeMetrics } from '../../src/bridge/adapter/prometheus.ts';
import { BRIDGE_ERROR_RESPONSES, type BridgeFault } from '../../src/bridge/errors.ts';
import { createBridgeOpenApi } from '../../src/bridge/openapi.ts';
import { BridgeVariables } from '../../src/bridge/settings.ts';
import { describe } from '../check.ts';
import { defaultsOf, read, sourcesOf, tableOfVariables, unique } from './pages.ts';

const PAGE = read('docs/bridge.md');
const SOURCES = sourcesOf('src/bridge').join('\n');

const matchesIn = (text: string, form: RegExp): string[] => [...text.matchAll(form)].map(([, word = '']) => word);
const sectionOf = (title: string): string => PAGE.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';

/** What the house itself answers with here. All other faults are made by the bridge, with a status of its own. */
const CORE_FAULTS: readonly BridgeFault[] = [
  { kind: 'unauthorized' },
  { kind: 'model-not-found', valid: [] },
  { kind: 'conflict', message: '' },
  { kind: 'not-found', hint: '' },
  { kind: 'method-not-allowed', allow: [] },
  { kind: 'body-too-large', limitBytes: 1 },
  { kind: 'body-too-slow' },
  { kind: 'unsupported-media-type' },
  { kind: 'unavailable', message: '', retryAfterMs: 1 },
  { kind: 'overloaded', retryAfterMs: 1 },
  { kind: 'backend-error', reason: '' },
  { kind: 'backend-timeout' },
  { kind: 'client-left' },
];
const rowOfReply = async (reply: Response): Promise<string> => {
  const text = await reply.text();
  return `${reply.status} ${text === '' ? 'none' : (JSON.parse(text) as { error: { code: string } }).error.code}`;
};
/** The rows of the page: `status code`, one for each code of a row. */
const errorRows = (): string[] => {
  const [table = '', codes = ''] = sectionOf('Errors').split('| code of a 400 | |');
  const first = [...table.matchAll(/^\| ([45]\d\d) \| ([^|]+) \|/gm)].filter(([, status]) => status !== '400');
  return [
    ...first.flatMap(([, status, cell = '']) =>
      (cell === 'none' ? ['none'] : matchesIn(cell, /`(\w+)`/g)).map((code) => `${status} ${code}`),
    ),
    ...[...codes.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) =>
      matchesIn(cell, /`(\w+)`/g).map((code) => `400 ${code}`),
    ),
  ];
};
const badInputRows = (): string[] => {
  const core = ['src/core/http/body.ts', 'src/core/http/router.ts'].map(read).join('\n');
  return [
    ...matchesIn(core, /\bcode: '([a-z_]+)'/g),
    ...matchesIn(SOURCES, /\bbadInput\(\s*'([a-z_]+)'/g),
    ...matchesIn(SOURCES, /\bkind: 'bad-input',\s*code: '([a-z_]+)'/g),
  ].map((code) => `400 ${code}`);
};

describe('the page of the bridge', (check) => {
  check('has the variables that the bridge reads, with their defaults', () => {
    assert.equal(tableOfVariables(PAGE).sort(), defaultsOf(BridgeVariables.entries).sort());
  });

  check('has the metrics that the bridge gives', async () => {
    const text = (await createPrometheusBridgeMetrics('0').text()) ?? '';
    const ours = unique(matchesIn(text, /^# TYPE (gatehouse_\w+) /gm));
    assert.equal(unique(matchesIn(sectionOf('Metrics'), /`(gatehouse_\w+)`/g)), ours);
  });

  check('has the routes of its OpenAPI text', () => {
    const rows = sectionOf('Requests')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const reported = unique(rows.flatMap((row) => matchesIn(row.split('|')[1] ?? '', /`(?:[A-Z]+ )?(\/[^`]+)`/g)));
    assert.equal(reported, unique([...Object.keys(createBridgeOpenApi('0').paths), '/openapi.json']));
  });

  check('has the errors that the bridge answers with, under their status, and no others', async () => {
    const houses = await Promise.all(
      [...CORE_FAULTS.map(BRIDGE_ERROR_RESPONSES.forFault), BRIDGE_ERROR_RESPONSES.forBug()].map(rowOfReply),
    );
    const stated = [...SOURCES.matchAll(/(?:\bstatus: |\[\s*)(\d{3}),\s*(?:code: )?'([a-z_]+)'/g)].map(
      ([, status, code]) => `${status} ${code}`,
    );
    const refusals = matchesIn(SOURCES, /\b(?:agentFailed\(|TOO_LARGE = )'([a-z_]+)'/g).map((code) => `502 ${code}`);
    assert.ok(stated.length > 8 && refusals.length > 5);
    assert.equal(unique(errorRows()), unique([...houses, ...stated, ...refusals, ...badInputRows()]));
  });

  check('has every event that is logged there, and no others', () => {
    const around = [
      'src/main/bridge.ts',
      'src/core/config.ts',
      'src/core/http/handler.ts',
      'src/adapter/node/service.ts',
    ].map(read);
    const texts = [SOURCES, ...around].join('\n');
    const logged = [
      ...matchesIn(texts, /\blog\(\s*(?:'\w+'|level),\s*'([a-z-]+)'/g),
      ...matchesIn(texts, /\b(?:logFailure)\('([a-z-]+)'/g),
      ...matchesIn(texts, /'(ready|not-ready)'/g),
    ];
    const rows = sectionOf('Logs')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    assert.equal(unique(rows.flatMap((row) => matchesIn(row.split('|')[1] ?? '', /`([a-z-]+)`/g))), unique(logged));
  });

  check('leads to headings that there are', () => {
    const anchors = matchesIn(PAGE, /\]\(#([\w-]+)\)/g);
    const headings = matchesIn(PAGE, /^#+ (.+)$/gm).map((title) => title.toLowerCase().replaceAll(' ', '-'));
    assert.equal(
      anchors.filter((anchor) => !headings.includes(anchor)),
      [],
    );
  });
});
