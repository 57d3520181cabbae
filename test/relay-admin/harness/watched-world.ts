import * as assert from 'uvu/assert';
import { untilAborted } from '../../../src/core/async.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../../../src/core/http/client.ts';
import type { RelayAdmin, ToolAnswer } from '../../../src/relay-admin/app.ts';
import { demandGoodAnswer } from './answer-rules.ts';
import { KEY, leaksIn, relayTextIn, wholeError } from './canaries.ts';
import { demandGoodRequests } from './request-rules.ts';
import { settledWithin } from './settled.ts';
import { goodArguments, type ToolName } from './tool-arguments.ts';
import { createWorld, type World } from './world.ts';

export const LIMIT_MS = 30_000;

export type WatchedWorld = World & {
  readonly admin: RelayAdmin;
  /** Called before each request with its number, once a test has set it. */
  beforeSending: (number: number, sent: HttpRequest) => void;
  /** Changes an answer on its way in. */
  onReceiving: (received: HttpResponse, sent: HttpRequest) => HttpResponse;
  /** Requests since the last call began. */
  readonly sent: HttpRequest[];
  readonly thrown: unknown[];
  readonly isAsking: () => boolean;
};

/** The demo relay under a key that looks like one, with everything written down that passes between it and the tools. */
export const createWatchedWorld = (variables: Readonly<Record<string, string>> = {}): WatchedWorld => {
  const world = createWorld();
  world.control.setKey(KEY);
  const sent: HttpRequest[] = [];
  const thrown: unknown[] = [];
  let asking = 0;
  const httpClient =
    (direct: HttpClient): HttpClient =>
    async (request) => {
      sent.push(request);
      asking += 1;
      try {
        watched.beforeSending(sent.length, request);
        // A body in this process does not hear that nobody waits for it any more; one on a socket does.
        return watched.onReceiving(await untilAborted(direct(request), request.signal), request);
      } catch (error) {
        thrown.push(error);
        throw error;
      } finally {
        asking -= 1;
      }
    };
  const watched: WatchedWorld = {
    ...world,
    admin: world.start({ variables: { RELAY_ADMIN_API_KEY: KEY, ...variables }, httpClient }),
    beforeSending: () => {},
    onReceiving: (received) => received,
    sent,
    thrown,
    isAsking: () => asking > 0,
  };
  return watched;
};

/** What holds for everything that left this process, or was thrown or written down in it. */
export const demandTidyWorld = ({ logged, file, thrown, control }: WatchedWorld): void => {
  for (const text of [...logged, ...file.lines, ...thrown.map(wholeError)]) {
    assert.equal(leaksIn(text), [], text);
    assert.is(relayTextIn(text), undefined, text);
  }
  demandGoodRequests(control.requests());
  assert.equal(control.traps(), []);
};

/** Calls a tool while the clock runs up to the limit of a call, and holds all of it against the rules. */
export const watchedCall = async (
  world: WatchedWorld,
  name: ToolName,
  given: unknown,
  unknownName?: string,
): Promise<ToolAnswer> => {
  const { signal } = new AbortController();
  const answer = await settledWithin({ ...world, limitMs: LIMIT_MS }, world.admin.call(name, given, signal));
  demandGoodAnswer(name, answer, unknownName);
  demandTidyWorld(world);
  return answer;
};

type Setting = (world: WatchedWorld) => void;
type WithFailure = {
  readonly world: WatchedWorld;
  readonly given: Readonly<Record<string, unknown>>;
  readonly answer: ToolAnswer;
};

/** One good call of a tool in a world of its own; `set` is trouble that comes after the preparations. */
export const callWithFailure = async (
  name: ToolName,
  set: Setting,
  { unknownName, before = () => {} }: { readonly unknownName?: string; readonly before?: Setting } = {},
): Promise<WithFailure> => {
  const world = createWatchedWorld();
  before(world);
  const given = await goodArguments(world.admin, name);
  world.sent.length = 0;
  world.control.clearRequests();
  set(world);
  return { world, given, answer: await watchedCall(world, name, given, unknownName) };
};

/** What a tool that changes something has done so far, in words that can be compared. */
export const changesIn = ({ control }: WatchedWorld): string =>
  JSON.stringify([
    control.credits().map(({ userId, amount }) => [userId, amount]),
    [control.user(2).rpm_limit, control.user(2).concurrency, control.account(1).schedulable],
  ]);
