/** An event of the feed, and the text of the stream up to it. */
export type FirstEvent = { readonly data: unknown; readonly text: string };

type Feed = { readonly address: string; readonly key: string; readonly event: string };

const LIMIT_MS = 10_000;

/** Reads a gateway's feed while `body` runs: `arrived` is the first event of a name that comes. The stream has begun by then. */
export const firstEvent = async (
  { address, key, event }: Feed,
  body: (arrived: Promise<FirstEvent>) => Promise<void>,
): Promise<void> => {
  const leaving = AbortSignal.timeout(LIMIT_MS);
  const response = await fetch(`${address}/admin/events`, {
    headers: { authorization: `Bearer ${key}` },
    signal: leaving,
  });
  if (response.status !== 200 || response.body === null)
    throw new Error(`${response.status}: ${await response.text()}`);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  const readUntil = async (form: RegExp): Promise<string> => {
    for (let found = form.exec(text); ; found = form.exec(text)) {
      if (found !== null) return found[1] ?? '';
      const { done, value } = await reader.read();
      if (done) throw new Error(`The feed ended: ${text}`);
      text += decoder.decode(value, { stream: true });
    }
  };
  try {
    await readUntil(/^(: open)\n/m);
    const arrived = readUntil(new RegExp(`^event: ${event}\\n(?:id: .*\\n)?data: (.*)\\n`, 'm')).then((data) => ({
      data: JSON.parse(data) as unknown,
      text,
    }));
    arrived.catch(() => {});
    await body(arrived);
  } finally {
    await reader.cancel().catch(() => {});
  }
};
