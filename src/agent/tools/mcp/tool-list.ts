import { pause } from '../../../core/async.ts';
import type { Clock } from '../../../core/clock.ts';
import { isRecord } from '../../../core/json.ts';
import { visibleLines } from '../../../core/text.ts';
import { McpServerError } from './errors.ts';

/** A tool as its server lists it, cleaned and bounded. */
type ListedTool = {
  /** The server's own name of the tool, with which it is called. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Only where the server says so itself: by MCP's default every tool without annotations would be destructive. */
  readonly isDestructive?: true;
};

/** Why a tool that a server lists is not offered. */
export type SkippedEntry = { readonly name: string; readonly reason: string };

/** The tools of one server. */
export type Listing = { readonly tools: readonly ListedTool[]; readonly skipped: readonly SkippedEntry[] };

export const EMPTY_LISTING: Listing = { tools: [], skipped: [] };

type ListingBuilder = {
  /** Adds one entry of a server's list, which may be anything. Returns false once the listing is full. */
  readonly add: (entry: unknown) => boolean;
  readonly listing: () => Listing;
};

const TOOL_LIMIT = 200;
const LISTING_LIMIT_CHARS = 1_000_000;
const SCHEMA_LIMIT_CHARS = 64_000;
const SCHEMA_DEPTH_LIMIT = 40;
const NAME_LIMIT_CHARS = 256;
const DESCRIPTION_LIMIT_CHARS = 4096;
/** The texts of a schema that a model reads. Everything else must stay as it is. */
const PROSE = new Set(['description', 'title']);

/** A value of a schema with its prose cleaned, or undefined when it is nested too deeply. */
const cleanSchema = (value: unknown, depth = 0): unknown => {
  if (depth > SCHEMA_DEPTH_LIMIT) return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => cleanSchema(item, depth + 1));
    return items.includes(undefined) ? undefined : items;
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value)
    .filter(([key]) => key !== '__proto__')
    .map(([key, inner]): [string, unknown] => [
      key,
      PROSE.has(key) && typeof inner === 'string'
        ? visibleLines(inner, DESCRIPTION_LIMIT_CHARS)
        : cleanSchema(inner, depth + 1),
    ]);
  return entries.some(([, inner]) => inner === undefined) ? undefined : Object.fromEntries(entries);
};

/** A schema of an object, as models require, or undefined when it is too large or nested too deeply. */
const toObjectSchema = (given: unknown): Readonly<Record<string, unknown>> | undefined => {
  const schema = cleanSchema(isRecord(given) ? given : {});
  if (!isRecord(schema) || JSON.stringify(schema).length > SCHEMA_LIMIT_CHARS) return undefined;
  return { ...schema, type: 'object', properties: isRecord(schema.properties) ? schema.properties : {} };
};

/** Collects a server's list of tools, page by page, within limits. `skipped` names the tools that do not fit. */
export const createListingBuilder = (): ListingBuilder => {
  const tools: ListedTool[] = [];
  const skipped: SkippedEntry[] = [];
  let chars = 0;

  const skip = (name: string, reason: string): boolean => {
    skipped.push({ name, reason });
    return skipped.length < TOOL_LIMIT;
  };
  return {
    add(entry) {
      const { name, description, inputSchema, annotations } = isRecord(entry) ? entry : {};
      if (typeof name !== 'string' || name === '' || name.length > NAME_LIMIT_CHARS) return skip('', 'no usable name');
      if (tools.length >= TOOL_LIMIT) {
        skip(name, `more than ${TOOL_LIMIT} tools`);
        return false;
      }
      if (tools.some((tool) => tool.name === name)) return skip(name, 'listed twice');
      const schema = toObjectSchema(inputSchema);
      if (schema === undefined) return skip(name, 'a schema that is too large or too deep');
      const tool = {
        name,
        description: typeof description === 'string' ? visibleLines(description, DESCRIPTION_LIMIT_CHARS) : '',
        inputSchema: schema,
        ...(isRecord(annotations) && annotations.destructiveHint === true ? { isDestructive: true as const } : {}),
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

/** The part of a connection that lists tools. Rejects with a `McpServerError` or with the signal's reason. */
type Lister = { readonly list: (signal: AbortSignal) => Promise<Listing> };

type RelistingOptions = {
  readonly clock: Clock;
  readonly onListing: (listing: Listing) => void;
  readonly onFailed: (reason: string) => void;
};

/** A server may announce changes all the time. Its tools are listed no more often than this. */
const RELIST_INTERVAL_MS = 1000;

/** Creates a function that lists a connection's tools again, one list at a time, until the signal aborts. */
export const createRelister = ({ clock, onListing, onFailed }: RelistingOptions, signal: AbortSignal) => {
  let isBusy = false;
  let isWanted = false;
  const listWhileWanted = async (connection: Lister): Promise<void> => {
    while (isWanted) {
      isWanted = false;
      const listing = await connection.list(signal).catch((error: unknown) => {
        signal.throwIfAborted();
        onFailed(error instanceof McpServerError ? error.message : 'The tools could not be listed');
      });
      if (listing !== undefined) onListing(listing);
      await pause(clock, RELIST_INTERVAL_MS, signal);
    }
  };
  return (connection: Lister): void => {
    isWanted = true;
    if (isBusy) return;
    isBusy = true;
    listWhileWanted(connection)
      // Rejects only because the connection has ended.
      .catch(() => {})
      .finally(() => {
        isBusy = false;
      });
  };
};
