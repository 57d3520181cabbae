import * as fc from 'fast-check';
import OpenAI, { type APIError } from 'openai';
import * as assert from 'uvu/assert';
import { createActiveRequests } from '../../../../src/bridge/http/shutdown.ts';
import { NO_ECHO } from '../../../../src/bridge/openai/responses/echo.ts';
import { createSnapshotEncoder } from '../../../../src/bridge/openai/responses/growing-snapshots.ts';
import { callItem, messageItem, type OutputItem } from '../../../../src/bridge/openai/responses/items.ts';
import { type ResponseObject, toResponseObject } from '../../../../src/bridge/openai/responses/response.ts';
import { createSharedLooks, streamResumed } from '../../../../src/bridge/openai/responses/resumed-stream.ts';
import type { EncodedEvent } from '../../../../src/bridge/openai/stream-encoder.ts';
import { NO_USAGE } from '../../../../src/bridge/output.ts';
import { pause } from '../../../../src/core/async.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { createTimeSlices } from '../../../../src/core/time-slices.ts';
import { describe, rejection, thorough } from '../../../check.ts';
import { createFakeClock, type FakeClock } from '../../../fake-clock.ts';
import type { StreamedEvent } from '../../harness/resumed-streams.ts';
import { callOf, responseID } from './world.ts';

/** To see a failure again: `SEED=<its seed>` and `REPLAY_PATH=<its path>` before the command that runs this file. */
const { SEED, REPLAY_PATH } = process.env;
const CASES = {
  numRuns: thorough(40, 2000),
  ...(SEED === undefined ? {} : { seed: Number(SEED) }),
  ...(REPLAY_PATH === undefined ? {} : { path: REPLAY_PATH }),
};

const never = new AbortController().signal;
const facts = { id: responseID(), model: 'acme/small', createdSeconds: 1, echo: { ...NO_ECHO, isBackground: true } };
const FIRST = 'Once upon a time 👩‍👩‍👧 there were ships, and all of them were at sea. '.repeat(6);
const SECOND = 'The end came late.';
const LIST = callOf('call_1', 'list');
const LENGTH = FIRST.length + 20 + SECOND.length;

/** The response when so much of it is there: a text, a call and another text, and its end after that. */
const responseAt = (position: number): ResponseObject => {
  const textOf = (id: string, text: string, from: number): readonly OutputItem[] => {
    const shown = text.slice(0, Math.max(0, position - from));
    return position <= from ? [] : [messageItem(id, shown, shown === text ? 'completed' : 'in_progress')];
  };
  const call = position > FIRST.length ? [callItem('b', LIST, position > FIRST.length + 10 ? RESULT : undefined)] : [];
  const output = [...textOf('a', FIRST, 0), ...call, ...textOf('c', SECOND, FIRST.length + 20)];
  if (position <= LENGTH) return toResponseObject(facts, { kind: 'running', output });
  const end = { finish: 'stop', usage: NO_USAGE, approvalRequests: [] } as const;
  return toResponseObject(facts, { kind: 'ended', output, end, endedSeconds: 2 });
};
const RESULT = { output: '5', isError: false };

const parsed = (event: EncodedEvent): StreamedEvent =>
  JSON.parse('data' in event ? event.data : JSON.stringify(event.value));
const WHOLE = createSnapshotEncoder(-1)
  .eventsFor(responseAt(LENGTH + 1))
  .map(parsed);

const UNREACHABLE = new Fault({ kind: 'backend-error', reason: 'The agent server broke off (ECONNRESET)' });

/** A bridge beside a response that grows by a unit each `unitMs`. `looks`: which of them fail, and how long each takes. */
const createPlace = (
  clock: FakeClock,
  { unitMs = 5, failing = () => false, lookMs = () => 0, hasEvents = true }: PlaceGiven = {},
) => {
  const startMs = clock.now();
  const requests = createActiveRequests();
  const listeners = new Set<() => void>();
  const positionNow = () => Math.floor((clock.now() - startMs) / unitMs);
  const tell = (): void => {
    for (const listener of listeners) listener();
    if (positionNow() <= LENGTH + 1 && hasEvents) clock.after(unitMs * 7, tell);
  };
  tell();
  let count = 0;
  const shareLooks = createSharedLooks(clock);
  const look = shareLooks('a', async () => {
    const number = count++;
    await pause(clock, lookMs(number) / 2, never);
    if (failing(number)) throw UNREACHABLE;
    const response = responseAt(positionNow());
    await pause(clock, lookMs(number) / 2, never);
    return { response, isHeld: false };
  });
  const logged: string[] = [];
  const open = (after: number): Promise<Response> =>
    streamResumed(new Request('http://bridge.test/v1/responses/a?stream=true'), responseID(), after, {
      look,
      feed: {
        subscribe(listener) {
          const told = () => listener({ kind: 'gap' });
          listeners.add(told);
          return () => void listeners.delete(told);
        },
      },
      track: requests.track,
      clock,
      chance: () => 0,
      log: (_level, event) => void logged.push(event),
      runInSlices: createTimeSlices(clock),
      hasHeartbeat: false,
    });
  return { open, requests, logged, looks: () => count, listeners: () => listeners.size };
};
type PlaceGiven = {
  readonly unitMs?: number;
  readonly failing?: (look: number) => boolean;
  readonly lookMs?: (look: number) => number;
  readonly hasEvents?: boolean;
};

const eventsIn = (text: string): readonly StreamedEvent[] =>
  text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));
/** Moves the clock on until it is settled. */
const inTime = async <T>(clock: FakeClock, promise: Promise<T>): Promise<T> => {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  promise.then(end, end);
  while (!isOver) await clock.advance(50);
  return promise;
};
/** Reads a stream until it ends, or has brought so many events: then its client leaves. */
const readUntil = async (response: Response, count: number): Promise<readonly StreamedEvent[]> => {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let read = await reader.read(); read.value !== undefined; read = await reader.read()) {
    text += decoder.decode(read.value, { stream: true });
    if (eventsIn(text.slice(0, text.lastIndexOf('\n\n'))).length < count) continue;
    await reader.cancel();
    // What has come with the last piece counts, too.
    return eventsIn(text).slice(0, count);
  }
  return eventsIn(text);
};

describe('a stream that is resumed', (check) => {
  check('is whole wherever and whenever it was left, also where looks at the agent fail or take their time', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ place: fc.nat(1), count: fc.integer({ min: 1, max: 12 }) }), { maxLength: 8 }),
        fc.array(fc.oneof({ weight: 3, arbitrary: fc.nat(900) }, { weight: 1, arbitrary: fc.constant(-1) }), {
          minLength: 1,
          maxLength: 12,
        }),
        fc.integer({ min: 1, max: 30 }),
        fc.boolean(),
        async (leaving, plan, unitMs, hasEvents) => {
          const clock = createFakeClock();
          const planned = (look: number) => plan[look] ?? 0;
          // The first look of a stream is answered with a status: its client tries again.
          const given = { unitMs, hasEvents, lookMs: (look: number) => Math.max(0, planned(look)) };
          const places = [0, 1].map(() => createPlace(clock, { ...given, failing: (look) => planned(look) < 0 }));
          const events: StreamedEvent[] = [];
          const run = async () => {
            for (const { place, count } of [...leaving, { place: 0, count: Number.POSITIVE_INFINITY }]) {
              const after = events.at(-1)?.sequence_number ?? -1;
              const open = (): Promise<Response> => places[place]?.open(after).catch(open) as Promise<Response>;
              events.push(...(await readUntil(await open(), count)));
              if (events.at(-1)?.type === 'response.completed') return;
            }
          };
          await inTime(clock, run());
          assert.equal(events, WHOLE);
          await clock.advance(5000);
          for (const { requests, listeners } of places) assert.equal([requests.count(), listeners()], [0, 0]);
        },
      ),
      CASES,
    ),
  );

  check(
    'ends with an error that the clients of OpenAI throw, where the agent cannot be read for two minutes',
    async () => {
      const clock = createFakeClock();
      const place = createPlace(clock, { unitMs: 1000, failing: (look) => look > 100 });
      const sent = await inTime(
        clock,
        place.open(-1).then((response) => readUntil(response, Number.POSITIVE_INFINITY)),
      );
      const last = sent.at(-1) as StreamedEvent & { error: { code: string; message: string } };
      assert.equal(
        [last.type, last.code, last.error.code, last.sequence_number],
        ['error', 'agent_unreachable', 'agent_unreachable', sent.at(-2)?.sequence_number],
      );
      assert.match(last.error.message, /\(ECONNRESET\)\. .* starting_after$/);
      assert.not.ok(sent.some(({ type }) => type === 'response.failed'));
      assert.equal([place.requests.count(), place.listeners(), place.logged], [0, 0, []]);
    },
  );

  check('ends for a client that reads nothing for half a minute, and gives back its place', async () => {
    const clock = createFakeClock();
    const place = createPlace(clock, { unitMs: 500 });
    await inTime(clock, place.open(-1));
    await clock.advance(29_000);
    assert.is(place.requests.count(), 1);
    await clock.advance(3000);
    assert.equal([place.requests.count(), place.listeners(), place.logged], [0, 0, []]);
  });

  check('that ends so is no answer to the clients of OpenAI', async () => {
    const reads: readonly ((client: OpenAI) => Promise<unknown>)[] = [
      async (client) => {
        for await (const _ of await client.responses.retrieve(responseID(), { stream: true }));
      },
      (client) => client.responses.stream({ response_id: responseID() }).finalResponse(),
    ];
    for (const read of reads) {
      const clock = createFakeClock();
      const place = createPlace(clock, { unitMs: 1000, failing: (look) => look > 0 });
      const fetch = () => place.open(-1);
      const client = new OpenAI({ apiKey: 'a', baseURL: 'http://bridge.test/v1', maxRetries: 0, fetch });
      const error = await inTime(clock, rejection(read(client)));
      assert.is((error as APIError).code, 'agent_unreachable');
    }
  });

  check('ends so where its bridge stops, and is resumed at the next one', async () => {
    const clock = createFakeClock();
    const place = createPlace(clock, { unitMs: 10 });
    const reading = readUntil(await inTime(clock, place.open(-1)), Number.POSITIVE_INFINITY);
    await clock.advance(1000);
    place.requests.stop();
    const sent = await inTime(clock, reading);
    assert.equal(sent.slice(0, -1), WHOLE.slice(0, sent.length - 1));
    assert.equal([sent.at(-1)?.type, sent.at(-1)?.code], ['error', 'unavailable']);
    const next = createPlace(clock, { unitMs: 1 });
    const rest = await inTime(
      clock,
      next.open(sent.at(-1)?.sequence_number ?? -1).then((response) => readUntil(response, Number.POSITIVE_INFINITY)),
    );
    assert.equal([...sent.slice(0, -1), ...rest], WHOLE);
  });
});
