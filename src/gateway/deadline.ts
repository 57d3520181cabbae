/** Headers by which clients tell how long they will wait: name, and milliseconds per unit. */
const TIMEOUT_HEADERS = [
  ['x-request-timeout-ms', 1],
  // Sent by the official OpenAI clients, in seconds: Node's whole timeout, Python's read timeout.
  ['x-stainless-timeout', 1000],
  ['x-stainless-read-timeout', 1000],
] as const;

/** The time a request may take: the configured limit, or less when the client says that it waits for less. */
export const deadlineMsFor = (headers: Headers, limitMs: number): number => {
  let shortest = limitMs;
  for (const [name, unitMs] of TIMEOUT_HEADERS) {
    const given = headers.get(name);
    const waitsMs = given !== null && /^\d{1,9}(?:\.\d{1,6})?$/.test(given) ? Number(given) * unitMs : 0;
    if (waitsMs > 0) shortest = Math.min(shortest, waitsMs);
  }
  return shortest;
};
