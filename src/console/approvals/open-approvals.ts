import { isNestedBeyond } from '../../core/json.ts';
import { visibleLine } from '../../core/text.ts';
import type { Approval, ApprovalList, ShownRule } from '../protocol.ts';
import type { AgentRequests } from './agent-requests.ts';
import { moneyOf } from './money.ts';
import type { RequestRecord } from './records.ts';

/** The open requests of all agent servers. Servers of one store list the same ones: each is here once. */
export type OpenApprovals = {
  /** The oldest first. */
  readonly list: () => readonly Approval[];
  readonly find: (id: string) => Approval | undefined;
  /** The agent servers that do not answer: their requests are not in the list, and may wait all the same. */
  readonly away: () => readonly number[];
  /** Both, and what answers of `always` allow at the moment, the oldest first. */
  readonly snapshot: () => ApprovalList;
};

const TITLE_CHARS = 200;

/** What an answer `always` allows from then on, and for how long, as a sentence for each rule. */
export const alwaysSentences = (permission: string, patterns: readonly string[], forMs: number): readonly string[] =>
  patterns.map((pattern) => {
    const calls = pattern === '*' ? `${permission}, with any arguments` : `${permission} that matches ${pattern}`;
    return `Every call of ${calls}, by any agent, in this session, for ${Math.round(forMs / 60_000)} minutes`;
  });

/** Stands for the hash of arguments that cannot be shown, so that no request can allow them. */
export const NOT_SHOWN = 'not shown';
const TOO_DEEP = 'These arguments have too many levels to be shown: the call can only be rejected';

/**
 * With a warning at each of several open recharges of one user: the first that is allowed moves the balance, and the tool server
 * refuses the others, whose previews are of another balance.
 */
const withRivals = (approvals: readonly Approval[]): readonly Approval[] => {
  const waiting = new Map<string, number>();
  for (const { money } of approvals)
    if (money?.user !== undefined) waiting.set(money.user, (waiting.get(money.user) ?? 0) + 1);
  return approvals.map((approval) => {
    const { money } = approval;
    const others = (waiting.get(money?.user ?? '') ?? 1) - 1;
    if (money === undefined || others === 0) return approval;
    const what = others === 1 ? 'Another recharge of this user waits' : `${others} other recharges of this user wait`;
    const warning = `${what}: once one of them is credited, the others are refused, as their previews show another balance.`;
    return { ...approval, money: { ...money, warnings: [...money.warnings, warning] } };
  });
};

/** `isAnnounced`: whether the link of a request was sent to the webhook; undefined where there is none. */
export const createOpenApprovals = (
  agents: readonly Pick<AgentRequests, 'open' | 'standing' | 'state'>[],
  isAnnounced: ((id: string) => boolean) | undefined,
): OpenApprovals => {
  // Arguments may be a megabyte, and the list is read for every change of it.
  const made = new WeakMap<RequestRecord, Approval>();
  const create = (record: RequestRecord, agent: number): Approval => {
    const { id, sessionID, permission, patterns, metadata, always, alwaysMs, parent, arguments: given } = record;
    // Writing them as JSON would fail. Our agent server takes none such of a model.
    const isShown = !isNestedBeyond(given);
    const money = moneyOf(metadata);
    return {
      agent,
      id,
      sessionID,
      title: visibleLine(record.title ?? '', TITLE_CHARS),
      ...(parent === undefined ? {} : { parentID: parent.id }),
      ...(parent?.title === undefined ? {} : { parentTitle: visibleLine(parent.title, TITLE_CHARS) }),
      tool: typeof metadata.tool === 'string' ? metadata.tool : permission,
      ...(record.agent === undefined ? {} : { by: record.agent }),
      permission,
      patterns,
      arguments: isShown ? given : TOO_DEEP,
      argumentsHash: isShown ? record.argumentsHash : NOT_SHOWN,
      ...(record.time === undefined ? {} : { asked: record.time.asked, ends: record.time.ends }),
      ...(record.tool === undefined ? {} : { call: record.tool }),
      ...(money === undefined ? {} : { money }),
      always: money === undefined && alwaysMs !== undefined ? alwaysSentences(permission, always, alwaysMs) : [],
    };
  };
  const toApproval = (record: RequestRecord, agent: number): Approval => {
    const known = made.get(record) ?? create(record, agent);
    made.set(record, known);
    return isAnnounced === undefined ? known : { ...known, link: { announced: isAnnounced(record.id) } };
  };
  const records = (): ReadonlyMap<string, { readonly record: RequestRecord; readonly agent: number }> => {
    const byID = new Map<string, { readonly record: RequestRecord; readonly agent: number }>();
    for (const [agent, { open }] of agents.entries())
      for (const record of open()) if (!byID.has(record.id)) byID.set(record.id, { record, agent });
    return byID;
  };
  const list = (): readonly Approval[] =>
    withRivals(
      [...records().values()]
        .map(({ record, agent }) => toApproval(record, agent))
        .sort((left, right) => (left.asked ?? 0) - (right.asked ?? 0) || (left.id < right.id ? -1 : 1)),
    );
  /** Servers of one store list the same ones. */
  const standing = (): readonly ShownRule[] => {
    const byID = new Map<string, ShownRule>();
    for (const [agent, one] of agents.entries())
      for (const { permission, patterns, by, ...rule } of one.standing()) {
        const covers = alwaysSentences(permission, patterns, rule.until - rule.since);
        byID.set(rule.id, { ...rule, agent, covers, ...(by === undefined ? {} : { by }) });
      }
    return [...byID.values()].sort((left, right) => left.since - right.since);
  };
  const away = (): readonly number[] => agents.flatMap(({ state }, agent) => (state().state === 'down' ? [agent] : []));
  return {
    list,
    away,
    snapshot: () => ({ open: list(), away: away(), standing: standing() }),
    find: (id) => (records().has(id) ? list().find((approval) => approval.id === id) : undefined),
  };
};
