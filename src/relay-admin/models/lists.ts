import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { errorTextFor } from '../errors/error-text.ts';
import { RelayError } from '../errors/errors.ts';
import type { RelayClient } from '../relay/client.ts';
import { readPage } from '../relay/list.ts';
import {
  type AccountView,
  type ChannelView,
  type GroupView,
  toAccountViews,
  toChannelViews,
  toGroupViews,
} from './views.ts';

const MOST_PAGES = 5;
const MOST_GROUPS = 1000;

/** What was read of a list, and what is to be shown of that. `trouble` says in our own word why it is not all of it. */
export type ModelList<Trace> = {
  readonly total: number;
  readonly examined: number;
  readonly traces: readonly Trace[];
  readonly trouble?: string;
};

/** What was read of each list of the relay that has something to say about a model. */
export type ModelLists = {
  readonly accounts: ModelList<AccountView>;
  readonly groups: ModelList<GroupView>;
  readonly channels: ModelList<ChannelView>;
};

type ToViews<Trace> = (rows: readonly unknown[]) => readonly Trace[] | undefined;

/** Our own word for a read that failed. What is no failure of a read, such as a caller that left, is thrown on. */
const toUnreadReason = (error: unknown): string => {
  if (error instanceof RelayError) return errorTextFor(error.detail).code.toLowerCase();
  if (error instanceof Fault && error.detail.kind === 'backend-timeout') return 'deadline';
  throw error;
};

const parseRows = <Trace>(tracesOf: ToViews<Trace>, rows: readonly unknown[]): readonly Trace[] => {
  const traces = tracesOf(rows);
  if (traces === undefined) throw new RelayError({ kind: 'upstream-contract', why: 'unexpected-shape' });
  return traces;
};

/** Keeps of each page only what may be shown: the records of the relay are many times as large. */
const readPages = async <Trace>(
  relay: RelayClient,
  { path, tracesOf }: { readonly path: string; readonly tracesOf: ToViews<Trace> },
  signal: AbortSignal,
): Promise<ModelList<Trace>> => {
  let read: ModelList<Trace> = { total: 0, examined: 0, traces: [] };
  try {
    for (let page = 1; page <= MOST_PAGES; page += 1) {
      const { items, total } = await readPage(relay, { path, query: {}, page }, signal);
      const traces = read.traces.concat(parseRows(tracesOf, items));
      read = { total, examined: read.examined + items.length, traces };
      if (read.examined >= total) return read;
      if (items.length === 0) return { ...read, trouble: 'list_moved' };
    }
    return { ...read, trouble: 'list_too_long' };
  } catch (error) {
    return { ...read, trouble: toUnreadReason(error) };
  }
};

/** A list without a row may come as null. */
const Groups = v.nullable(v.array(v.unknown()));

const readGroups = async (
  relay: RelayClient,
  tracesOf: ToViews<GroupView>,
  signal: AbortSignal,
): Promise<ModelLists['groups']> => {
  try {
    const parsed = v.safeParse(Groups, await relay.get('groups/all', {}, signal));
    if (!parsed.success) throw new RelayError({ kind: 'upstream-contract', why: 'unexpected-shape' });
    const all = parsed.output ?? [];
    const rows = all.slice(0, MOST_GROUPS);
    const read = { total: all.length, examined: rows.length, traces: parseRows(tracesOf, rows) };
    return rows.length === all.length ? read : { ...read, trouble: 'list_too_long' };
  } catch (error) {
    return { total: 0, examined: 0, traces: [], trouble: toUnreadReason(error) };
  }
};

const notRead = { total: 0, examined: 0, traces: [], trouble: 'no_admin_key' };

/** What there is without a key: nothing was asked for. */
export const NO_LISTS: ModelLists = { accounts: notRead, groups: notRead, channels: notRead };

/** Reads what can be read within the time. Rejects only for a caller that left, and for a bug. */
export const readLists = async (
  relay: RelayClient,
  model: string | undefined,
  signal: AbortSignal,
): Promise<ModelLists> => {
  const [accounts, groups, channels] = await Promise.all([
    readPages(relay, { path: 'accounts', tracesOf: (rows) => toAccountViews(rows, model) }, signal),
    readGroups(relay, (rows) => toGroupViews(rows, model), signal),
    readPages(relay, { path: 'channels', tracesOf: (rows) => toChannelViews(rows, model) }, signal),
  ]);
  return { accounts, groups, channels };
};
