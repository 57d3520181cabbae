import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { read } from '../../docs/pages.ts';
import { PAGES } from './dashboards.ts';

export const RULES = join(import.meta.dirname, '../../../k8s/gatehouse/files/monitoring/rules.yaml');
const METRIC = /\b(?:gatehouse|process|nodejs)_\w+/g;
const DOCS = ['docs/moderation-gateway.md', 'docs/agent-server.md', 'docs/bridge.md', 'docs/console.md'];
/** What a scrape in a cluster adds, and what a histogram has. */
const ALWAYS = ['namespace', 'pod', 'instance', 'le'];
const PARTS_OF_A_HISTOGRAM = /_(?:bucket|sum|count)$/;

/** What is known of a metric: its labels, and the text of the docs that names the values which they take. */
type Listed = { readonly labels: readonly string[]; readonly text: string };
export type KnownMetrics = ReadonlyMap<string, readonly Listed[]>;

const quotedIn = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);

/** The metrics in these texts of /metrics, with the labels and values that the pages list. A test compares those with the sources. */
export const listedMetrics = (scrapes: readonly string[]): KnownMetrics => {
  const pages = DOCS.map(read);
  const names = scrapes.flatMap((text) => [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name));
  return new Map(
    names.map((name) => [
      name,
      pages.flatMap((page) => {
        const [, labels = '', text = ''] = new RegExp(`^\\| \`${name}\` \\| ([^|]*)\\| (.*)`, 'm').exec(page) ?? [];
        return text === '' ? [] : [{ labels: quotedIn(labels), text: `${text} ${page}` }];
      }),
    ]),
  );
};

/** Each expression of a page, with the legend that names labels of its result. */
export const expressionsOf = ({ plots }: (typeof PAGES)[number]): readonly string[] =>
  plots.flatMap(({ queries }) => queries.map(([expression, legend]) => `${expression}\n${legend}`));

/** The metrics that alerts and dashboards name, each once, in their order. */
export const namesInMonitoring = (): readonly string[] => {
  const texts = [
    readFileSync(RULES, 'utf8').replace(/^ *(?:summary|description):.*/gm, ''),
    ...PAGES.flatMap(expressionsOf),
  ];
  const names = texts.flatMap((text) => [...text.matchAll(METRIC)].map(([name]) => name.replace(/_bucket$/, '')));
  return [...new Set(names)].sort();
};

const wordsOf = (list: string): readonly string[] => list.split(',').map((word) => word.trim());

/** The metrics, labels and values in an expression of PromQL, and the labels in its legend, that no service has. */
export const unknownIn = (expression: string, known: KnownMetrics): readonly string[] => {
  const names = [...expression.matchAll(METRIC)].map(([name]) =>
    known.has(name) ? name : name.replace(PARTS_OF_A_HISTOGRAM, ''),
  );
  const listed = names.flatMap((name) => known.get(name) ?? []);
  const labels = [...ALWAYS, ...listed.flatMap((one) => one.labels)];
  const matchers = [...expression.matchAll(/[{,]\s*(\w+)(?:=~|!~|!=|=)"([^"]*)"/g)];
  const used = [
    ...matchers.map(([, label = '']) => label),
    ...[...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => wordsOf(list)),
    ...[...expression.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label),
  ];
  const values = matchers
    .flatMap(([, , value = '']) => value.split('|'))
    // A pattern, or what the reader of a dashboard chooses.
    .filter((value) => !/[.*$]/.test(value));
  return [
    ...names.filter((name) => !known.has(name)),
    ...used.filter((label) => !labels.includes(label)),
    ...values.filter(
      (value) => value !== 'true' && !listed.some(({ text }) => new RegExp(`\`(?:POST )?${value}[\` ]`).test(text)),
    ),
  ];
};
