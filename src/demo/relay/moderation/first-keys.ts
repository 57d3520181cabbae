import { parseJsonValue } from '../../../core/json.ts';

/** All of a JSON text but its commas and colons, which a valid one does not need. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]]|[^\s{}[\],:"]+/g;

/**
 * Reads JSON as the platform's content moderation does: of a name that comes twice in an object the first value counts, where every
 * model's server takes the last. Undefined for anything that is no JSON.
 */
export const parseFirstKeys = (text: string): unknown => {
  if (parseJsonValue(text) === undefined) return undefined;
  const tokens = text.match(TOKEN) ?? [];
  let at = 0;
  const readValue = (): unknown => {
    const token = tokens[at++] ?? 'null';
    if (token !== '[' && token !== '{') return JSON.parse(token);
    const values: unknown[] = [];
    while (tokens[at] !== ']' && tokens[at] !== '}') values.push(readValue());
    at += 1;
    if (token === '[') return values;
    const members = values.flatMap((name, index) => (index % 2 === 0 ? [[String(name), values[index + 1]]] : []));
    return Object.fromEntries(members.toReversed());
  };
  return readValue();
};
