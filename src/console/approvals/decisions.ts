import * as v from 'valibot';
import { setNewest } from '../../core/bounded-map.ts';
import { Fault } from '../../core/fault.ts';
import { isRecord } from '../../core/json.ts';
import type { Runtime } from '../../core/runtime.ts';
import { type ConsoleFault, isConsoleFault, type NotDecided } from '../errors.ts';
import type { ConsoleMetrics } from '../metrics.ts';
import type { Approval, ApprovalAnswer, CallOutcome, Decision, RecentDecisions } from '../protocol.ts';
import { fitting } from '../services/fitting.ts';
import type { ServiceAnswer } from '../services/service-client.ts';
import type { AgentRequests } from './agent-requests.ts';
import { callOutcomeIn } from './call-outcome.ts';
import { alwaysSentences, NOT_SHOWN, type OpenApprovals } from './open-approvals.ts';
import { DecisionRecord } from './records.ts';

/** What people decide, and what was decided before. */
export type Decisions = {
  /** Gives an answer to an open request. Faults with `not-decided`, and who has decided, where it does not count. */
  readonly decide: (id: string, verdict: ApprovalAnswer, by: string, signal: AbortSignal) => Promise<Decision>;
  /** What was decided lately, over all agent servers. */
  readonly recent: (signal: AbortSignal) => Promise<RecentDecisions>;
  /** What became of the call that a decision allowed, as its session says. */
  readonly outcome: (agent: number, id: string, signal: AbortSignal) => Promise<CallOutcome>;
  /** Ends a standing rule. Faults with `service-refused` where none holds. */
  readonly revoke: (agent: number, id: string, signal: AbortSignal) => Promise<void>;
  /** What this process knows of a request that is no longer open. */
  readonly known: (id: string) => Decision | undefined;
};

type DecisionsNeeds = Pick<Runtime, 'clock'> & {
  readonly agents: readonly Pick<AgentRequests, 'client' | 'refresh'>[];
  readonly approvals: OpenApprovals;
  readonly meter: Pick<ConsoleMetrics, 'recordDecision'>;
  /** Called with each decision that was made here. */
  readonly onDecided: (decision: Decision) => void;
};

const forbidden = (message: string) => new Fault<ConsoleFault>({ kind: 'forbidden', message });
const NOT_ALLOWED = forbidden('The arguments of this call cannot be shown, so it can only be rejected');
const NOT_ALWAYS = forbidden('Each such call needs a decision of its own: allow it once, or reject it');

/** It may still wait there; the console cannot know. */
const AWAY = new Fault<ConsoleFault>({ kind: 'service-down', part: 'agent', reason: 'its requests are not known now' });

/** What an agent server keeps where a client without a login gave no name. */
const NO_NAME = 'unknown';

const SHOWN = 100;
const KNOWN_LIMIT = 1000;

const toDecision = (
  { covers = [], until, through, argumentsHash, by, message, tool, ...rest }: DecisionRecord,
  agent: number,
): Decision => ({
  ...rest,
  agent,
  ...(argumentsHash === undefined ? {} : { argumentsHash }),
  ...(tool === undefined ? {} : { call: tool }),
  ...(by === undefined || by === NO_NAME ? {} : { by }),
  ...(message === undefined ? {} : { message }),
  ...(through === undefined ? {} : { through }),
  ...(covers.length === 0 || until === undefined
    ? {}
    : {
        covers: covers.flatMap(({ permission, pattern }) => alwaysSentences(permission, [pattern], until - rest.at)),
      }),
});

const notDecided = (code: NotDecided, decided?: Decision) =>
  new Fault<ConsoleFault>({ kind: 'not-decided', code, ...(decided === undefined ? {} : { decided }) });

/** The error body of an agent server: `decided` and a code may be at its top, or in `error` or `data`. */
const placesIn = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  isRecord(value) ? [value, value.error, value.data].filter(isRecord) : [];

export const createDecisions = ({ agents, approvals, clock, meter, onDecided }: DecisionsNeeds): Decisions => {
  const known = new Map<string, Decision>();
  const remember = (decision: Decision): Decision => {
    setNewest(known, [decision.id, decision], KNOWN_LIMIT);
    return decision;
  };
  /** Undefined where they cannot be read. */
  const listOf = async (agent: number, signal: AbortSignal): Promise<readonly Decision[] | undefined> => {
    const client = agents[agent]?.client;
    // One that hangs would hold up what the others know.
    if (client === undefined || approvals.away().includes(agent)) return undefined;
    try {
      const paths = ['', '&asked=true'].map((more) => `/permission/decisions?limit=${SHOWN}${more}`);
      const lists = await Promise.all(paths.map((path) => client.ask({ method: 'GET', path }, signal)));
      const records = lists.flatMap(({ value }) => fitting(DecisionRecord, value, SHOWN));
      return records.map((record) => toDecision(record, agent));
    } catch (error) {
      if (!isConsoleFault(error) || error.detail.kind === 'client-left') throw error;
      return undefined;
    }
  };
  /** Why an answer did not count, as far as anyone knows. */
  const explain = async (agent: number, id: string, signal: AbortSignal): Promise<Fault<ConsoleFault>> => {
    const found = known.get(id) ?? (await listOf(agent, signal))?.find((decision) => decision.id === id);
    const isByPerson = found !== undefined && found.reply !== 'expired' && found.reply !== 'cancelled';
    return notDecided(isByPerson ? 'already_decided' : 'ended', found);
  };
  const refusalOf = async (
    answer: ServiceAnswer,
    approval: Approval,
    signal: AbortSignal,
  ): Promise<Fault<ConsoleFault>> => {
    const places = placesIn(answer.value);
    if (
      answer.status === 409 &&
      places.some(({ code, name }) => code === 'arguments_changed' || name === 'arguments_changed')
    )
      return notDecided('arguments_changed');
    for (const { decided } of places) {
      const result = v.safeParse(
        v.object({ ...v.partial(DecisionRecord).entries, reply: DecisionRecord.entries.reply }),
        decided,
      );
      if (!result.success) continue;
      const { id, sessionID, permission, patterns, call } = approval;
      const whole = { id, sessionID, permission, patterns, ...result.output, at: result.output.at ?? clock.now() };
      const decision = v.safeParse(DecisionRecord, whole);
      // An agent server does not repeat which call it was; without it the outcome of the call cannot be read.
      if (decision.success)
        remember({ ...toDecision(decision.output, approval.agent), ...(call === undefined ? {} : { call }) });
    }
    return explain(approval.agent, approval.id, signal);
  };
  const decide: Decisions['decide'] = async (id, { reply, message, argumentsHash }, by, signal) => {
    const approval = approvals.find(id);
    if (approval === undefined) {
      const everywhere = known.get(id) ?? (await recent(signal)).decided.find((decision) => decision.id === id);
      if (everywhere !== undefined) throw await explain(everywhere.agent, id, signal);
      throw approvals.away().length > 0 ? AWAY : notDecided('ended');
    }
    if (approval.argumentsHash !== argumentsHash) throw notDecided('arguments_changed');
    if (argumentsHash === NOT_SHOWN && reply !== 'reject') throw NOT_ALLOWED;
    if (reply === 'always' && approval.always.length === 0) throw NOT_ALWAYS;
    const agent = agents[approval.agent];
    if (agent === undefined) throw notDecided('ended');
    const body = {
      reply,
      ...(reply === 'reject' && message !== undefined && message !== '' ? { message } : {}),
      by,
      ...(argumentsHash === NOT_SHOWN ? {} : { argumentsHash }),
    };
    const answer = await agent.client.call({ method: 'POST', path: `/permission/${id}/reply`, body }, signal);
    if (answer.status === 404 || answer.status === 409) {
      await agent.refresh();
      throw await refusalOf(answer, approval, signal);
    }
    if (answer.status < 200 || answer.status >= 300) {
      const text = `it did not take the answer (status ${answer.status})`;
      throw new Fault<ConsoleFault>({ kind: 'service-refused', part: 'agent', status: answer.status, message: text });
    }
    const { sessionID, permission, patterns, always, call } = approval;
    const decision = remember({
      ...{ agent: approval.agent, id, sessionID, permission, patterns, argumentsHash, reply, by, at: clock.now() },
      ...(call === undefined ? {} : { call }),
      ...('message' in body ? { message: body.message } : {}),
      ...(reply === 'always' ? { covers: always } : {}),
    });
    meter.recordDecision(reply);
    onDecided(decision);
    await agent.refresh();
    return decision;
  };
  const recent: Decisions['recent'] = async (signal) => {
    const lists = await Promise.all(agents.map((_, agent) => listOf(agent, signal)));
    const byID = new Map([...known.values()].map((decision) => [decision.id, decision]));
    // What the agent servers have kept counts more than what this process remembers.
    for (const decision of lists.toReversed().flatMap((list) => list ?? [])) byID.set(decision.id, decision);
    const newest = [...byID.values()].sort((left, right) => right.at - left.at);
    // However many calls ran under standing rules, so many decisions of people are shown.
    const decided = newest.filter(({ through }, place) => place < SHOWN || through === undefined).slice(0, 2 * SHOWN);
    return { decided, unread: lists.flatMap((list, agent) => (list === undefined ? [agent] : [])) };
  };
  const outcome: Decisions['outcome'] = async (agent, id, signal) => {
    const here = known.get(id);
    const decision = here?.call === undefined ? (await listOf(agent, signal))?.find((one) => one.id === id) : here;
    const client = agents[decision?.agent ?? agent]?.client;
    if (client === undefined || decision?.call === undefined) return { state: 'unknown' };
    const { sessionID, call } = decision;
    const path = `/session/${sessionID}/message/${call.messageID}`;
    return callOutcomeIn((await client.ask({ method: 'GET', path }, signal)).value, call.callID);
  };
  const revoke: Decisions['revoke'] = async (agent, id, signal) => {
    await agents[agent]?.client.ask({ method: 'DELETE', path: `/permission/standing/${id}` }, signal);
    await agents[agent]?.refresh();
  };
  return { decide, recent, outcome, revoke, known: (id) => known.get(id) };
};
