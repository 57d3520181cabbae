import type { HttpResponse } from '../../../src/core/http/client.ts';

/** Names whose values the tools go by: changed, there would be nothing left to show. */
const KEPT = new Set(['email', 'type']);

const poisonedValue = (value: unknown, poison: string, name = ''): unknown => {
  if (typeof value === 'string') return KEPT.has(name) ? value : `${value} ${poison}`;
  if (Array.isArray(value)) return value.map((item) => poisonedValue(item, poison, name));
  if (typeof value !== 'object' || value === null) return value;
  const parts = Object.entries(value).map(([part, inner]) => [part, poisonedValue(inner, poison, part)] as const);
  return Object.fromEntries([...parts, [poison, poison]]);
};

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The answer with the poison behind every text in it, and as a name of its own in every record. */
export const poisoned = (received: HttpResponse, poison: string): HttpResponse => {
  const body = jsonOf(received.text);
  if (body === undefined) return received;
  const text = JSON.stringify(poisonedValue(body, poison));
  return { ...received, text, header: (name) => received.header(name) ?? poison };
};

/** What a request with the key in it would be echoed as by something between the tools and the relay. */
export const refusalWith = (status: number, poison: string): HttpResponse => ({
  status,
  header: () => poison,
  text: JSON.stringify({
    code: status,
    message: poison,
    reason: poison,
    metadata: { [poison]: poison },
    error: poison,
  }),
});
