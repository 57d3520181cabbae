import * as v from 'valibot';
import { CommaList, readVariables, type Variables, WholeNumber } from '../core/config.ts';
import { DEFAULT_URL } from './flags.ts';

const isAddress = (text: string): boolean => {
  const url = URL.parse(text);
  return (
    url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.search}${url.hash}` === ''
  );
};

const Url = v.pipe(
  v.string(),
  v.trim(),
  v.check(isAddress, 'expected http(s)://host:port, without a user, a query or a fragment'),
  // People copy base URLs from client settings, where they end in /v1.
  v.transform((text) => text.replace(/\/+$/, '').replace(/\/v1$/, '')),
);

const Options = v.object({
  '--file': v.pipe(
    v.optional(v.string(), ''),
    v.regex(/\.(?:jsonl|ndjson|csv)$/i, 'expected a path that ends in .jsonl, .ndjson or .csv'),
  ),
  '--url': v.optional(Url, DEFAULT_URL),
  '--key': v.pipe(
    v.optional(v.string(), ''),
    v.trim(),
    v.regex(/^[\x21-\x7e]+$/, 'expected a key of the gateway, here or in the variable MODERATION_API_KEY'),
  ),
  '--model': v.optional(v.string(), 'moderation-fast'),
  '--text-field': v.optional(v.string()),
  '--id-field': v.optional(v.string()),
  '--labels': v.optional(CommaList),
  '--concurrency': v.optional(WholeNumber(1, 256), '4'),
  '--limit': v.optional(WholeNumber(1, 1_000_000_000)),
  '--out': v.optional(v.string()),
  '--fresh': v.optional(v.string()),
  '--json': v.optional(v.string()),
  '--timeout-ms': v.optional(WholeNumber(1, 600_000), '30000'),
});

/** What the command was told, whole and within bounds. */
export type Options = ReturnType<typeof optionsFrom>;

/** Reads flags and their texts; all that is wrong comes at once, as a `ConfigError` that names flags and no values. */
export const optionsFrom = (given: Variables) => {
  const read = readVariables(Options, given);
  const file = read['--file'];
  const model = read['--model'];
  return {
    file,
    model,
    url: read['--url'],
    key: read['--key'],
    textField: read['--text-field'],
    idField: read['--id-field'],
    labels: read['--labels'],
    concurrency: read['--concurrency'],
    limit: read['--limit'] ?? Number.POSITIVE_INFINITY,
    out: read['--out'] ?? `${file}.${model.replace(/[^\w.-]+/g, '_')}.results.jsonl`,
    isFresh: read['--fresh'] !== undefined,
    asJson: read['--json'] !== undefined,
    timeoutMs: read['--timeout-ms'],
  };
};
