import type { Variables } from '../core/config.ts';
import { nearestName } from '../core/nearest.ts';
import { isRecord } from '../core/record.ts';

/** The specification's names and the variable that each stands for, with the kind of value that a file gives it. */
const NAMES: Readonly<Record<string, { readonly variable: string; readonly type: 'string' | 'number' | 'boolean' }>> = {
  defaultModel: { variable: 'DEFAULT_MODEL', type: 'string' },
  openaiStreamChunkSize: { variable: 'OPENAI_STREAM_CHUNK_SIZE', type: 'number' },
  openaiStreamChunkDelayMs: { variable: 'OPENAI_STREAM_CHUNK_DELAY_MS', type: 'number' },
  enableLeadingEchoFilter: { variable: 'ENABLE_LEADING_ECHO_FILTER', type: 'boolean' },
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const shownName = (name: string): string => name.replace(/[^\w.$-]/g, '?').slice(0, 60);

const problemWith = (name: string, value: unknown): string | undefined => {
  const known = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
  if (known === undefined) {
    const nearest = nearestName(name.slice(0, 100), Object.keys(NAMES));
    return `BRIDGE_CONFIG: ${shownName(name)}: an unknown name; the nearest known one is ${nearest}`;
  }
  return typeof value === known.type ? undefined : `BRIDGE_CONFIG: ${name}: expected a ${known.type}`;
};

/** What the settings file says that can be used, as the variables that say the same, and everything that is wrong with it. */
export type SettingsFile = { readonly variables: Variables; readonly problems: readonly string[] };

const nothingBut = (problem: string): SettingsFile => ({ variables: {}, problems: [`BRIDGE_CONFIG: ${problem}`] });

/** No path, no file: nothing. */
export const readSettingsFile = (
  path: string | undefined,
  readFile: (path: string) => string | undefined,
): SettingsFile => {
  if (path === undefined || path === '') return { variables: {}, problems: [] };
  const text = readFile(path);
  if (text === undefined) return nothingBut('expected the path of a file that can be read');
  const value = parsed(text);
  if (!isRecord(value)) return nothingBut('expected a file that holds a JSON object');
  const entries = Object.entries(value).map(([name, given]) => ({ name, given, problem: problemWith(name, given) }));
  const usable = entries.filter(({ problem }) => problem === undefined);
  return {
    variables: Object.fromEntries(usable.map(({ name, given }) => [NAMES[name]?.variable ?? '', String(given)])),
    problems: entries.flatMap(({ problem }) => problem ?? []),
  };
};
