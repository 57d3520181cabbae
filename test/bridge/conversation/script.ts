import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { LockedConversation, ResolvedConversation } from '../../../src/bridge/conversation/types.ts';
import type { BridgeRequest, ConversationReference, HistoryMessage } from '../../../src/bridge/request.ts';
import { after, asking, assistant, createWorld, named, remembered, user } from './world.ts';

/** How a client says which conversation it means. Those that tell everything share their names with others. */
const MANNERS = ['unnamed', 'unnamed', 'unnamed', 'named', 'named', 'reliant', 'response', 'response'] as const;

const QUESTIONS = ['Hello', 'And?'];
const ANSWERS = ['Hi there', 'Well now', ''];

const aClient = fc.nat({ max: MANNERS.length * 2 - 1 });
const aFlight = fc.nat({ max: 3 });

/** What happens in front of a bridge. Most of it is clients that go on. */
export const aCommand = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      client: aClient,
      words: fc.constantFrom(...QUESTIONS),
      change: fc.constantFrom('none', 'none', 'none', 'again', 'shorter', 'edit', 'anew'),
    }),
  },
  {
    weight: 14,
    arbitrary: fc.record({
      kind: fc.constant('step' as const),
      flight: aFlight,
      answer: fc.nat({ max: 2 }),
      kept: fc.constantFrom(9, 9, 9, 2, 0),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('drop' as const), flight: aFlight }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), finishes: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('use name' as const), client: aClient }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const), client: aClient }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lose' as const), place: fc.nat({ max: 5 }) }) },
);
type Command = typeof aCommand extends fc.Arbitrary<infer One> ? One : never;

type Client = {
  readonly owner: string;
  manner: (typeof MANNERS)[number];
  /** What it calls its conversation. */
  name: string;
  /** What it was told that its conversation is called. */
  reportedName: string | undefined;
  transcript: HistoryMessage[];
  readonly responses: {
    readonly id: string;
    readonly earlierMessages: readonly HistoryMessage[];
    readonly transcript: readonly HistoryMessage[];
  }[];
};
type Flight = {
  readonly client: Client;
  readonly asked: BridgeRequest;
  readonly words: string;
  readonly expected: readonly HistoryMessage[];
  readonly name: string;
  held: LockedConversation | undefined;
  answering: PromiseWithResolvers<string> | undefined;
  prompting: Promise<string | undefined> | undefined;
  isNoted: boolean;
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Takes reports of what was said before, which may hold others, for what they report. */
const spelledOut = (earlierMessages: readonly HistoryMessage[]): HistoryMessage[] =>
  earlierMessages.flatMap(({ role, text }) => {
    const [report, ...rest] = text.startsWith('[{') ? text.split('\n\n') : [];
    if (report === undefined) return [{ role, text }];
    return [...spelledOut(JSON.parse(report)), { role, text: rest.join('\n\n') }];
  });

const isSame = (
  some: readonly HistoryMessage[],
  others: readonly HistoryMessage[],
  isAsGood: (text: string, whole: string) => boolean,
) =>
  some.length === others.length &&
  some.every(({ role, text }, place) => {
    const other = others[place];
    return other?.role === role && (other.text === text || (role === 'assistant' && isAsGood(text, other.text)));
  });

/** A fork is not told of answers that were none. */
const withText = (earlierMessages: readonly HistoryMessage[]): HistoryMessage[] =>
  earlierMessages.filter(({ text }) => text !== '');

/** What a client may leave out by the rule for named conversations. */
const isShortenedOf = (history: readonly HistoryMessage[], collected: readonly HistoryMessage[]): boolean =>
  collected.length >= 6 &&
  history[0]?.text !== collected[0]?.text &&
  isSame(history.slice(-4), collected.slice(-4), (text, whole) => whole.startsWith(text));

/** Plays a script and throws at the first broken promise. Returns what has happened in it. */
export const play = async (script: readonly Command[], bridges = 1, hasEvents = true): Promise<ReadonlySet<string>> => {
  const world = createWorld({}, bridges);
  const { fake } = world;
  if (!hasEvents) fake.holdEvents();
  // Of its own: what a restart leaves behind goes on listening to it.
  const { signal } = new AbortController();
  const clients: Client[] = ['a', 'b'].flatMap((owner) =>
    MANNERS.map((manner, place) => ({
      owner,
      manner,
      name: manner === 'named' ? 'shared' : `own ${place}`,
      reportedName: undefined,
      transcript: [],
      responses: [],
    })),
  );
  const seen = new Set<string>();
  const owners = new Map<string, string>();
  const names = new Map<string, Set<string>>();
  const reliedOn = new Map<string, string>();
  const answersOf = new Map<string, PromiseWithResolvers<string>>();
  const failures: unknown[] = [];
  let flights: Flight[] = [];

  const receivedIn = (sessionID: string): HistoryMessage[] =>
    spelledOut(
      (fake.sessions.get(sessionID)?.messages ?? []).map(({ info, parts }) => ({
        role: info.role,
        text: parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n'),
      })),
    );
  const checkHeld = (flight: Flight, held: LockedConversation): void => {
    const { client, asked, name, expected } = flight;
    const { sessionID } = held.session;
    const isNew = !owners.has(sessionID);
    // Another bridge may go on as soon as an exchange is stored.
    const isOver = ({ isNoted }: Flight): boolean => bridges > 1 && isNoted;
    const others = flights.filter(
      (other) => other !== flight && other.held?.session.sessionID === sessionID && !isOver(other),
    );
    assert.equal(others, [], 'two hold one session');
    assert.is(owners.get(sessionID) ?? client.owner, client.owner, 'a session of another owner');
    owners.set(sessionID, client.owner);
    const collected = [...receivedIn(sessionID), ...spelledOut(held.replay)];
    const key = `${client.owner} ${client.name}`;
    if (client.manner === 'reliant') {
      assert.is(name, client.name);
      assert.ok(isNew || names.get(sessionID)?.has(name), 'a session that has not this name');
      const before = reliedOn.get(key);
      if (before !== undefined && fake.sessions.has(before))
        assert.is(sessionID, before, 'what a name stands for was lost');
    } else {
      const isCutFine = (text: string, whole: string) => client.manner === 'named' && whole.startsWith(text);
      const isFine =
        (client.manner === 'response'
          ? isSame(withText(expected), withText(collected), isCutFine)
          : isSame(expected, collected, isCutFine)) ||
        (client.manner === 'named' && isShortenedOf(expected, collected));
      assert.ok(isFine, `${client.manner}: told ${JSON.stringify(expected)}, but heard ${JSON.stringify(collected)}`);
    }
    if (!isNew && asked.history.length > 0) seen.add(`${client.manner} goes on`);
    if (!isNew && client.manner === 'response') seen.add('response goes on');
    if (isNew && held.replay.length > 0) seen.add(`${client.manner} in a new session`);
    names.set(sessionID, (names.get(sessionID) ?? new Set()).add(name));
  };

  const hold = async (placement: ResolvedConversation, flight: Flight): Promise<void> => {
    const held = await placement.lock(signal).catch((error: unknown) => {
      // It waited for a response that was then forgotten.
      if (flight.client.manner !== 'response' || !isUnknownResponse(error)) throw error;
      leave(flight);
    });
    if (held === undefined) return;
    const { sessionID } = held.session;
    const isLost = !fake.sessions.has(sessionID);
    if (isLost) assert.ok(owners.get(sessionID) === flight.client.owner);
    flight.held = isLost ? await held.renew(signal) : held;
    if (isLost) seen.add('renewed');
    // What was said before a response is known to nobody once its session is lost.
    if (flights.includes(flight) && !(isLost && flight.client.manner === 'response')) checkHeld(flight, flight.held);
    // Without a turn for some seconds another bridge takes this one for dead.
    if (bridges > 1 && flights.includes(flight)) prompt(flight, flight.held);
  };
  const ask = async ({ client: place, words, change }: Extract<Command, { kind: 'ask' }>): Promise<void> => {
    const client = clients[place];
    if (client === undefined || flights.filter((flight) => flight.client === client).length > 1) return;
    const { manner } = client;
    let where: ConversationReference = { kind: 'unnamed' };
    let history = [...client.transcript];
    if (change === 'again') history = history.slice(0, -2);
    if (change === 'shorter') history = history.slice(0, Math.floor(history.length / 4) * 2);
    if (change === 'edit' && history.length > 0) history[history.length - 1] = assistant('Edited');
    if (change === 'anew') history = [];
    let expected: readonly HistoryMessage[] = history;
    if (manner === 'named') where = named(client.name);
    if (manner === 'reliant') [where, history] = [remembered(client.name), []];
    if (manner === 'response') {
      const response = client.responses.at(change === 'again' || change === 'edit' ? -2 : -1);
      const goesOn = response !== undefined && change !== 'anew';
      client.transcript = goesOn ? [...response.transcript] : [];
      where = goesOn ? after(response.id) : { kind: 'unnamed' };
      expected = goesOn ? response.earlierMessages : [];
      history = [];
    }
    const asked = asking({ words, history, conversation: where });
    const flight: Flight = { client, asked, words, expected, name: '', ...NOT_BEGUN };
    try {
      const placement = await world.conversations().resolve(asked, client.owner, signal, world.newMark());
      const begun = { ...flight, name: placement.name };
      flights.push(begun);
      hold(placement, begun).catch((error: unknown) => failures.push(error));
    } catch (error) {
      // Its session is lost, or the response forgotten.
      if (manner !== 'response' || !isUnknownResponse(error)) throw error;
      client.responses.length = 0;
      seen.add('unknown response');
    }
  };

  const prompt = (flight: Flight, held: LockedConversation): void => {
    const answering = Promise.withResolvers<string>();
    flight.answering = answering;
    fake.answer = (sessionID) => answersOf.get(sessionID)?.promise ?? '';
    answersOf.set(held.session.sessionID, answering);
    const report =
      held.replay.length === 0 ? [] : [{ type: 'text' as const, text: JSON.stringify(held.replay), synthetic: true }];
    const parts = [...report, ...flight.asked.prompt];
    const rest = { model: undefined, variant: undefined, agent: undefined, system: '', hasTools: true };
    flight.prompting = fake.agent.prompt(held.session.sessionID, { ...rest, parts }, signal).then(
      ({ info }) => (info.role === 'assistant' ? info.parentID : undefined),
      () => undefined,
    );
  };
  const finish = async (flight: Flight, held: LockedConversation, reported: string, kept: number): Promise<void> => {
    const { client, words, asked } = flight;
    flight.answering?.resolve(reported);
    const promptID = await flight.prompting;
    const { sessionID } = held.session;
    if (promptID === undefined) return leave(flight);
    const responseID = world.newResponseID(held.session);
    const isStopped = kept < reported.length;
    const exchange = { promptText: words, files: [], answerText: reported, responseID, promptID };
    await held.record({ ...exchange, isStopped, isUnread: isStopped, paused: undefined });
    flight.isNoted = true;
    const known = client.manner === 'reliant' || client.manner === 'response' ? client.transcript : asked.history;
    client.transcript = [...known, user(words), assistant(reported.slice(0, kept))];
    client.reportedName = flight.name;
    client.responses.push({ id: responseID, earlierMessages: receivedIn(sessionID), transcript: client.transcript });
    if (asked.conversation.kind === 'named' && asked.conversation.isIncremental)
      reliedOn.set(`${client.owner} ${flight.name}`, sessionID);
    if (isStopped) seen.add('stopped');
  };
  const leave = (flight: Flight): void => {
    flights = flights.filter((other) => other !== flight);
    flight.answering?.resolve('Too late');
    flight.held?.release();
  };
  const step = async (flight: Flight, answer: number, kept: number): Promise<void> => {
    const { held } = flight;
    if (held === undefined) seen.add('waited');
    else if (flight.prompting === undefined) prompt(flight, held);
    else if (flight.isNoted) leave(flight);
    else await finish(flight, held, ANSWERS[answer] ?? '', kept);
  };

  const run = async (command: Command): Promise<void> => {
    switch (command.kind) {
      case 'ask':
        return ask(command);
      case 'step': {
        const flight = flights[command.flight];
        return flight === undefined ? undefined : step(flight, command.answer, command.kept);
      }
      case 'drop': {
        const flight = flights[command.flight];
        if (flight?.held === undefined) return;
        seen.add(flight.prompting === undefined ? 'dropped' : 'dropped under way');
        return leave(flight);
      }
      case 'restart':
        // What still runs is waited for by the other bridges.
        for (const { answering } of flights) if (command.finishes || bridges > 1) answering?.resolve('Unheard');
        if (flights.some(({ prompting, isNoted }) => prompting !== undefined && !isNoted))
          seen.add('restart under way');
        flights = [];
        return world.restart();
      case 'use name': {
        const client = clients[command.client];
        if (client?.reportedName === undefined || client.manner !== 'unnamed') return;
        Object.assign(client, { manner: 'reliant', name: client.reportedName });
        seen.add('name used');
        return;
      }
      case 'forget': {
        const client = clients[command.client];
        const response = client?.responses.at(-1);
        if (client === undefined || response === undefined) return;
        assert.not.ok(
          await world.conversations().deleteResponse(response.id, client.owner === 'a' ? 'b' : 'a', signal),
        );
        await world.conversations().deleteResponse(response.id, client.owner, signal);
        client.responses.pop();
        seen.add('forgotten');
        return;
      }
      default: {
        const session = [...fake.sessions.keys()][command.place];
        if (session === undefined || flights.some(({ held }) => held?.session.sessionID === session)) return;
        fake.forget(session);
        seen.add('lost');
      }
    }
  };

  /** Bridges that wait for each other look again after some time. */
  const pass = (): Promise<void> => (bridges === 1 ? turn() : world.clock.advance(300));
  for (const command of script) {
    await run(command);
    await pass();
    if (failures.length > 0) throw failures[0];
  }
  // Nobody waits for ever.
  for (let rounds = 0; flights.length > 0; rounds += 1) {
    assert.ok(rounds < 1000, 'somebody waits for ever');
    for (const flight of flights) await step(flight, 0, 9);
    await pass();
    if (failures.length > 0) throw failures[0];
  }
  return seen;
};

const NOT_BEGUN = { held: undefined, answering: undefined, prompting: undefined, isNoted: false };

const isUnknownResponse = (error: unknown): boolean =>
  error instanceof Error && JSON.stringify(error).includes('previous_response_not_found');
