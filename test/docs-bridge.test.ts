import * as assert from 'uvu/assert';
import { createPrometheusBridgeMeter } from '../src/adapter/prometheus-bridge.ts';
import { openApiOf } from '../src/bridge/openapi.ts';
import { BridgeVariables } from '../src/bridge/settings.ts';
import { describe } from './check.ts';
import { defaultsOf, read, sourcesOf, tableOfVariables, unique } from './docs-pages.ts';

const PAGE = read('docs/bridge.md');
const SOURCES = sourcesOf('src/bridge').join('\n');

const wordsIn = (text: string, form: RegExp): string[] => [...text.matchAll(form)].map(([, word = '']) => word);
const sectionOf = (title: string): string => PAGE.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';

describe('the page of the bridge', (check) => {
  check('has the variables that the bridge reads, with their defaults', () => {
    assert.equal(tableOfVariables(PAGE).sort(), defaultsOf(BridgeVariables.entries).sort());
  });

  check('has the metrics that the bridge gives', async () => {
    const text = (await createPrometheusBridgeMeter('0').text()) ?? '';
    const ours = unique(wordsIn(text, /^# TYPE (gatehouse_\w+) /gm));
    assert.equal(unique(wordsIn(sectionOf('Metrics'), /`(gatehouse_\w+)`/g)), ours);
  });

  check('has the routes of its OpenAPI text', () => {
    const rows = sectionOf('Requests')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const told = unique(rows.flatMap((row) => wordsIn(row.split('|')[1] ?? '', /`(?:[A-Z]+ )?(\/[^`]+)`/g)));
    assert.equal(told, unique([...Object.keys(openApiOf('0').paths), '/openapi.json']));
  });

  check('has every code that its sources answer with', () => {
    const codes = unique([
      ...wordsIn(SOURCES, /\bcode: '([a-z_]+)'/g),
      ...wordsIn(SOURCES, /\bbadInput\(\s*'([a-z_]+)'/g),
    ]);
    for (const code of codes) assert.ok(sectionOf('Errors').includes(`\`${code}\``), `${code} is not on the page`);
  });

  check('has every event that its sources log', () => {
    const logged = unique([
      ...wordsIn(SOURCES, /\blog\(\s*'\w+',\s*'([a-z-]+)'/g),
      ...wordsIn(SOURCES, /\bunheard\('([a-z-]+)'\)/g),
    ]);
    for (const event of logged) assert.ok(sectionOf('Logs').includes(`\`${event}\``), `${event} is not on the page`);
  });

  check('leads to headings that there are', () => {
    const anchors = wordsIn(PAGE, /\]\(#([\w-]+)\)/g);
    const headings = wordsIn(PAGE, /^#+ (.+)$/gm).map((title) => title.toLowerCase().replaceAll(' ', '-'));
    assert.equal(
      anchors.filter((anchor) => !headings.includes(anchor)),
      [],
    );
  });
});
