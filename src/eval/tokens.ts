/** Tokens as the backend counted them; `cached` are those of the prompts that it found in its cache. */
export type TokenCounts = { readonly prompt: number; readonly output: number; readonly cached: number };

const COUNTER =
  /^gatehouse_tokens_total\{[^}]*\bkind="(prompt|output|cache_read)"[^}]*\} (\d+(?:\.\d+)?(?:e\+?\d+)?)$/gm;

/** Reads the counters out of a gateway's metrics; undefined where the text is none of its metrics. */
export const parseTokenCounts = (text: string): TokenCounts | undefined => {
  if (!text.includes('gatehouse_tokens_total')) return undefined;
  const counts = { prompt: 0, output: 0, cache_read: 0 };
  for (const [, kind, count] of text.matchAll(COUNTER))
    if (kind === 'prompt' || kind === 'output' || kind === 'cache_read') counts[kind] += Number(count);
  return { prompt: counts.prompt, output: counts.output, cached: counts.cache_read };
};

/** Asks a gateway for its counters; undefined where it has none to show. */
export const readTokenCounts = async (url: string, fetcher: typeof fetch): Promise<TokenCounts | undefined> => {
  try {
    const response = await fetcher(`${url}/metrics`, { redirect: 'manual', signal: AbortSignal.timeout(5000) });
    return parseTokenCounts(await response.text());
  } catch {
    return undefined;
  }
};

/** What was spent between two readings; undefined where one is missing, or where the gateway has started anew. */
export const tokensBetween = (
  before: TokenCounts | undefined,
  after: TokenCounts | undefined,
): TokenCounts | undefined => {
  if (before === undefined || after === undefined) return undefined;
  const spent = {
    prompt: after.prompt - before.prompt,
    output: after.output - before.output,
    cached: after.cached - before.cached,
  };
  return Object.values(spent).some((count) => count < 0) ? undefined : spent;
};
