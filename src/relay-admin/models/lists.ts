import * as v from 'valibot';
import { Fault } from '../../core/fault.ts';
import { errorTextFor } from '../errors/error-text.ts';
import { RelayError } from '../errors/errors.ts';
import type { RelayClient } from '../relay/client.ts';
import { readPage } from '../relay/list.ts';
import { parseAnswer } from '../relay/response.ts';
import {
  type AccountView,
  type ChannelView,
  findGroupModelSetting,
  type GroupView,
  toAccountViews,
  toChannelViews,
  toGroupViews,
} from './views.ts';

const MAX_PAGES = 5;
const MAX_GROUPS = 1000;

/** What was read of a list, and the views of it. `unreadReason` is our own code for why the list was not read whole. */
export type ModelList<View> = {
  readonly total: number;
  readonly examined: number;
  readonly views: readonly View[];
  readonly unreadReason?: string;
};

/** What was read of each of the relay's lists that can concern a model. */
export type ModelLists = {
  /** The setting for models that the groups of this release have. */
  readonly groupModelSetting: ReturnType<typeof findGroupModelSetting>;
  readonly accounts: ModelList<AccountView>;
  readonly groups: ModelList<GroupView>;
  readonly channels: ModelList<ChannelView>;
};

type ToViews<View> = (rows: readonly unknown[]) => readonly View[];

/** Our own code for a failed read. Rethrows what is not a failure of the read, such as a cancelled call. */
const toUnreadReason = (error: unknown): string => {
  if (error instanceof RelayError) return errorTextFor(error.detail).code.toLowerCase();
  if (error instanceof Fault && error.detail.kind === 'backend-timeout') return 'deadline';
  throw error;
};

/** Keeps only the views of each page: the records of the relay are many times as large. */
const readPages = async <View>(
  relay: RelayClient,
  { path, toViews }: { readonly path: string; readonly toViews: ToViews<View> },
  signal: AbortSignal,
): Promise<ModelList<View>> => {
  let read: ModelList<View> = { total: 0, examined: 0, views: [] };
  try {
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const { items, total } = await readPage(relay, { path, query: {}, page }, signal);
      const views = read.views.concat(toViews(items));
      read = { total, examined: read.examined + items.length, views };
      if (read.examined >= total) return read;
      if (items.length === 0) return { ...read, unreadReason: 'list_moved' };
    }
    return { ...read, unreadReason: 'list_too_long' };
  } catch (error) {
    return { ...read, unreadReason: toUnreadReason(error) };
  }
};

/** A list without rows may come as null. */
const Groups = v.nullable(v.array(v.unknown()));

const readGroups = async (
  relay: RelayClient,
  toViews: ToViews<GroupView>,
  signal: AbortSignal,
): Promise<Pick<ModelLists, 'groups' | 'groupModelSetting'>> => {
  try {
    const all = parseAnswer(Groups, await relay.get('groups/all', {}, signal)) ?? [];
    const rows = all.slice(0, MAX_GROUPS);
    const read = { total: all.length, examined: rows.length, views: toViews(rows) };
    return {
      groups: rows.length === all.length ? read : { ...read, unreadReason: 'list_too_long' },
      groupModelSetting: findGroupModelSetting(rows),
    };
  } catch (error) {
    return {
      groups: { total: 0, examined: 0, views: [], unreadReason: toUnreadReason(error) },
      groupModelSetting: null,
    };
  }
};

const notRead = { total: 0, examined: 0, views: [], unreadReason: 'no_admin_key' };

/** The lists of a server without an admin key: nothing was read. */
export const NO_LISTS: ModelLists = {
  accounts: notRead,
  groups: notRead,
  channels: notRead,
  groupModelSetting: null,
};

/** Reads what can be read within the time. Rejects only when the call was cancelled, and for a bug. */
export const readLists = async (
  relay: RelayClient,
  model: string | undefined,
  signal: AbortSignal,
): Promise<ModelLists> => {
  const [accounts, { groups, groupModelSetting }, channels] = await Promise.all([
    readPages(relay, { path: 'accounts', toViews: (rows) => toAccountViews(rows, model) }, signal),
    readGroups(relay, (rows) => toGroupViews(rows, model), signal),
    readPages(relay, { path: 'channels', toViews: (rows) => toChannelViews(rows, model) }, signal),
  ]);
  return { accounts, groups, channels, groupModelSetting };
};
