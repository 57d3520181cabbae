import { isRecord } from '../../core/json.ts';
import { visibleLines } from '../../core/text.ts';

/** A tool as its server lists it, cleaned and bounded. */
export type ListedTool = {
  /** The server's own name of it, with which it is called. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
};

/** Why a tool that a server lists is not offered. */
export type Skipped = { readonly name: string; readonly reason: string };

export type Listing = { readonly tools: readonly ListedTool[]; readonly skipped: readonly Skipped[] };

export type ListingBuilder = {
  /** Takes one entry of a server's list, whatever it is. False once there is no room for more. */
  readonly add: (entry: unknown) => boolean;
  readonly listing: () => Listing;
};

const TOOL_LIMIT = 200;
const LISTING_LIMIT_CHARS = 1_000_000;
const SCHEMA_LIMIT_CHARS = 64_000;
const SCHEMA_DEPTH_LIMIT = 40;
const NAME_LIMIT_CHARS = 256;
const DESCRIPTION_LIMIT_CHARS = 4096;
/** What a model reads as prose. All else in a schema must stay as it is. */
const PROSE = new Set(['description', 'title']);

/** A schema's value with its prose cleaned, or nothing when it is too deep. */
const cleaned = (value: unknown, depth = 0): unknown => {
  if (depth > SCHEMA_DEPTH_LIMIT) return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => cleaned(item, depth + 1));
    return items.includes(undefined) ? undefined : items;
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value)
    .filter(([key]) => key !== '__proto__')
    .map(([key, inner]): [string, unknown] => [
      key,
      PROSE.has(key) && typeof inner === 'string'
        ? visibleLines(inner, DESCRIPTION_LIMIT_CHARS)
        : cleaned(inner, depth + 1),
    ]);
  return entries.some(([, inner]) => inner === undefined) ? undefined : Object.fromEntries(entries);
};

/** A schema that describes an object, as every model wants it, or nothing when it is too deep or too large. */
const schemaFrom = (given: unknown): Readonly<Record<string, unknown>> | undefined => {
  const schema = cleaned(isRecord(given) ? given : {});
  if (!isRecord(schema) || JSON.stringify(schema).length > SCHEMA_LIMIT_CHARS) return undefined;
  return { ...schema, type: 'object', properties: isRecord(schema.properties) ? schema.properties : {} };
};

/** Gathers a server's list of tools, page by page, within bounds. What does not fit is told by name. */
export const createListing = (): ListingBuilder => {
  const tools: ListedTool[] = [];
  const skipped: Skipped[] = [];
  let chars = 0;

  const skip = (name: string, reason: string): boolean => {
    skipped.push({ name, reason });
    return skipped.length < TOOL_LIMIT;
  };
  return {
    add(entry) {
      const { name, description, inputSchema } = isRecord(entry) ? entry : {};
      if (typeof name !== 'string' || name === '' || name.length > NAME_LIMIT_CHARS) return skip('', 'no usable name');
      if (tools.length >= TOOL_LIMIT) {
        skip(name, `more than ${TOOL_LIMIT} tools`);
        return false;
      }
      if (tools.some((tool) => tool.name === name)) return skip(name, 'listed twice');
      const schema = schemaFrom(inputSchema);
      if (schema === undefined) return skip(name, 'a schema that is too large or too deep');
      const tool = {
        name,
        description: typeof description === 'string' ? visibleLines(description, DESCRIPTION_LIMIT_CHARS) : '',
        inputSchema: schema,
      };
      chars += JSON.stringify(tool).length;
      if (chars > LISTING_LIMIT_CHARS) {
        skip(name, 'a list that is too large');
        return false;
      }
      tools.push(tool);
      return true;
    },
    listing: () => ({ tools, skipped }),
  };
};
