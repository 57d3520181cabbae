import * as assert from 'uvu/assert';
import { createPrometheusAgentMetrics } from '../../src/agent/adapter/prometheus.ts';
import { openApiDocument } from '../../src/agent/http/openapi.ts';
import { createPrometheusBridgeMetrics } from '../../src/bridge/adapter/prometheus.ts';
import { createPrometheusGatewayMetrics } from '../../src/gateway/adapter/prometheus.ts';
import { describe } from '../check.ts';
import { read, sourcesOf, unique } from './pages.ts';
import { TABLES } from './tables.ts';

const PAGES = ['moderation-gateway', 'agent-server', 'bridge', 'relay-admin'].map((name) => `docs/${name}.md`);
/** What an operator reads in the night: runbooks, and the page on scale. */
const TEXTS: Readonly<Record<string, string>> = Object.fromEntries([
  ...PAGES.map((page) => [page, /^## Runbook\n([\s\S]*?)^## /m.exec(read(page))?.[1] ?? '']),
  ['docs/scale.md', read('docs/scale.md')],
]);
const SOURCES = sourcesOf('src').join('\n');
const VARIABLES = new Set(Object.values(TABLES).flatMap((variables) => Object.keys(variables)));
const ROUTES = Object.keys((openApiDocument('0') as { paths: object }).paths);

/** What stands in single quotes of code, without the blocks of commands. */
const quotedIn = (text: string): string[] =>
  [...text.replace(/^ *```[\s\S]*?^ *```/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, word = '']) => word);
/** Names of the platform, and signs of programs that are not ours. */
const ELSEWHERE = new Set([
  'agent.db',
  'agent.db-wal',
  'session.jsonl',
  'info.error',
  'EROFS',
  'proxy_buffering',
  'proxy_read_timeout',
  'OLLAMA_NUM_PARALLEL',
]);

/** An event of the log, a header or the like is a text there; other names may be anything. */
const standsInSources = (word: string): boolean => {
  const name = word.replaceAll('.', '\\.');
  const form = /^[a-z]+(?:-[a-z]+)+$/.test(word) ? `['"\`]${name}['"\`]` : `(?<![\\w-])${name}(?![\\w-])`;
  return new RegExp(form).test(SOURCES);
};

const exported = async (): Promise<ReadonlySet<string>> => {
  const gateway = createPrometheusGatewayMetrics({ version: '0', isSharedStateUp: () => true });
  const texts = [gateway, createPrometheusAgentMetrics('0'), createPrometheusBridgeMetrics('0')].map((meter) =>
    meter.text(),
  );
  return new Set(
    (await Promise.all(texts)).flatMap((text) =>
      [...(text ?? '').matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name),
    ),
  );
};

describe('the runbooks', (check) => {
  check('are there, and name things', () => {
    for (const [page, text] of Object.entries(TEXTS)) assert.ok(quotedIn(text).length > 15, page);
  });
  check('name metrics that some service exports', async () => {
    const known = await exported();
    const named = Object.values(TEXTS).flatMap((text) => text.match(/\b(?:gatehouse|process)_[a-z_]+/g) ?? []);
    assert.ok(unique(named).length > 10);
    assert.equal(
      unique(named).filter((name) => !known.has(name)),
      [],
    );
  });
  for (const [page, text] of Object.entries(TEXTS)) {
    check(`of ${page} names events of the log, codes and words that stand in the sources`, () => {
      const words = quotedIn(text)
        .filter((word) => /^[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*$|^[A-Z][A-Z0-9_]+$|^[A-Z][A-Za-z]+$/.test(word))
        // Metrics are looked at above, and alerts where their rules are tried.
        .filter(
          (word) =>
            !/^(?:gatehouse|process)_|^Gatehouse[A-Z]/.test(word) && !ELSEWHERE.has(word) && !VARIABLES.has(word),
        );
      assert.equal(
        unique(words).filter((word) => !standsInSources(word)),
        [],
      );
    });
    check(`of ${page} names variables that some service reads`, () => {
      const named = [...text.matchAll(/\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)=/g)].map(([, name = '']) => name);
      assert.equal(
        unique(named).filter((name) => !VARIABLES.has(name) && !ELSEWHERE.has(name)),
        [],
      );
    });
  }
  check('of the agent server names routes that it has', () => {
    const text = TEXTS['docs/agent-server.md'] ?? '';
    const named = [...text.matchAll(/`(?:GET|POST|DELETE) (\/[^`]+)`/g)].map(([, path = '']) =>
      path.replace('{name}', '{name}'),
    );
    assert.ok(named.length > 4);
    assert.equal(
      named.filter((path) => !ROUTES.includes(path)),
      [],
    );
  });
});
