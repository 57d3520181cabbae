import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { ModelRequest } from '../../../src/agent/model/types.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { ToolPart } from '../../../src/agent/protocol/types.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { describe, thorough } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { callsOf, clientTools, giveResults, killableStore, sessionAt } from '../harness/client-tools.ts';
import { answersIn, isQuiet, messagesOf, until } from '../harness/permission-requests.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  outcome,
  prompt,
  replying,
  type Script,
  toolNamed,
} from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';

const TIMEOUT_MS = 3_600_000;
const INTERRUPTED = 'The call was interrupted';

/** What the model does at each of its requests, one after the other and then again from the first. */
const anyBehaviour = fc.constantFrom('text', 'own', 'client', 'client', 'two clients', 'both', 'wrong arguments');
type Behaviour = ReturnType<typeof anyBehaviour.generate>['value'];

/** What happens to the session. `settle` lets everything come to rest; the others do not wait for that. */
const anyAction = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('prompt' as const), isForced: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('results' as const),
      picks: fc.array(fc.nat(7), { minLength: 1, maxLength: 4 }),
      isError: fc.boolean(),
      noReply: fc.integer({ min: 0, max: 4 }).map((one) => one === 0),
      isSentTwice: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('settle' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('abort' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stop and start' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('kill and start' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('time' as const), ms: fc.constantFrom(1, 40, 700, TIMEOUT_MS) }),
  },
);
type Action = typeof anyAction extends fc.Arbitrary<infer T> ? T : never;

type Given = { readonly behaviours: readonly Behaviour[]; readonly actions: readonly Action[] };

/** A session of one server after the other, and what is known of its calls. */
const createHistory = async ({ behaviours, actions }: Given) => {
  const clock = createFakeClock();
  const ids = createIds(clock, (count) => crypto.getRandomValues(new Uint8Array(count)));
  const store: Store = createMemoryStore({ ids });
  /** How often each call of the agent's own tool ran, by its number. */
  const runs = new Map<unknown, number>();
  const own = toolNamed('desk_find', async ({ n }) => {
    runs.set(n, (runs.get(n) ?? 0) + 1);
    return outcome('found');
  });
  /** The results that count, by the ids of their calls. */
  const accepted = new Map<string, { readonly output: string; readonly isError: boolean }>();
  const wrongReads: string[] = [];
  let requests = 0;
  const checkRead = ({ messages }: ModelRequest): void => {
    for (const result of messages.flatMap((message) => (message.role === 'tool' ? message.results : []))) {
      const counted = accepted.get(result.id);
      if (result.output === INTERRUPTED || (counted !== undefined && counted.output !== result.output))
        wrongReads.push(`${result.id}: ${result.output}`);
    }
  };
  const script: Script = (request, signal) => {
    checkRead(request);
    requests += 1;
    const desk = { name: 'desk_find', input: { n: requests } };
    const client = { name: 'weather', input: { city: `city ${requests}` } };
    const scripts: Readonly<Record<Behaviour, Script>> = {
      text: replying('done'),
      own: calling(desk),
      client: calling(client),
      'two clients': calling(client, { name: 'clock', input: {} }),
      both: calling(client, desk),
      'wrong arguments': calling({ name: 'weather', input: { city: requests } }),
    };
    return scripts[behaviours[requests % behaviours.length] ?? 'text'](request, signal);
  };
  let kill = (): void => {};
  const start = async (): Promise<AgentWorld> => {
    const killable = killableStore(store);
    kill = killable.kill;
    const changes = { clock, ids, clientToolTimeoutMs: TIMEOUT_MS };
    const agents = [{ name: 'short', steps: 6 }];
    const world = await createAgentWorld({ store: killable.store, scripts: [script], tools: [own], agents, changes });
    return { ...world, clock };
  };
  let world = await start();
  const id = await world.session();
  const settle = (): Promise<void> => until(world, () => isQuiet(world));
  const clientCalls = async (): Promise<readonly ToolPart[]> =>
    answersIn(await messagesOf({ ...world, get: world.get }, id))
      .flatMap(callsOf)
      .filter(({ state }) => state.status !== 'pending' && state.metadata?.clientTool === true);
  const answersTo = async (promptID: string | undefined): Promise<number> =>
    answersIn(await messagesOf(world, id)).filter(({ info }) => info.parentID === promptID).length;
  /** Prompts whose turn has to go on, with the number of answers that they had. */
  const resumed: { readonly promptID: string | undefined; readonly answers: number }[] = [];
  let given = 0;

  const sendResults = async ({ picks, isError, noReply, isSentTwice }: Extract<Action, { kind: 'results' }>) => {
    const calls = await clientCalls();
    if (calls.length === 0) return;
    const results = picks.map((pick) => {
      given += 1;
      return { callID: calls.at(-1 - (pick % calls.length))?.callID ?? '', output: `result ${given}`, isError };
    });
    const last = answersIn(await messagesOf(world, id)).at(-1);
    const answers = await answersTo(last?.info.parentID);
    const sending = [giveResults(world, id, results, { noReply })];
    if (isSentTwice) sending.push(giveResults(world, id, results, { noReply }));
    for (const taken of await Promise.all(sending)) {
      for (const callID of taken.accepted) {
        assert.not(accepted.has(callID), 'a second result of a call was accepted');
        const first = results.find((result) => result.callID === callID);
        if (first !== undefined) accepted.set(callID, first);
      }
      if (taken.accepted.length > 0 && taken.waiting.length === 0 && !noReply)
        resumed.push({ promptID: last?.info.parentID, answers });
    }
  };
  const act = async (action: Action): Promise<unknown> => {
    switch (action.kind) {
      case 'prompt': {
        const choice = action.isForced ? { choice: 'required' } : {};
        const body = prompt('go on', { agent: 'short', ...clientTools(choice) });
        return (await world.call('POST', `/session/${id}/prompt_async`, body)).text();
      }
      case 'results':
        return sendResults(action);
      case 'settle':
        return settle();
      case 'abort':
        return world.post(`/session/${id}/abort`);
      case 'time':
        return clock.advance(action.ms);
      case 'stop and start': {
        let isStopped = false;
        void world.server.stop().then(() => {
          isStopped = true;
        });
        await until(world, () => isStopped);
        world = await start();
        return undefined;
      }
      case 'kill and start':
        kill();
        world = await start();
        return undefined;
      default:
        return action satisfies never;
    }
  };
  for (const action of actions) await act(action);
  await settle();
  return {
    store,
    id,
    session: await sessionAt(world, id),
    calls: await clientCalls(),
    runs,
    accepted,
    wrongReads,
    resumed,
    answersTo,
  };
};

describe('any mix of own calls, calls for the client, results, prompts, aborts and restarts', (check) => {
  check('runs no call twice and loses no result: the first one of each call counts', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(anyBehaviour, { minLength: 1, maxLength: 6 }),
        fc.array(anyAction, { minLength: 4, maxLength: 18 }),
        async (behaviours, rest) => {
          const actions: readonly Action[] = [{ kind: 'prompt', isForced: false }, { kind: 'settle' }, ...rest];
          const ended = await createHistory({ behaviours, actions });
          const { store, id, session, calls, runs, accepted, wrongReads, resumed, answersTo } = ended;
          assert.equal(
            [...runs.values()].filter((count) => count > 1),
            [],
          );
          assert.equal(wrongReads, []);
          const stored = new Map(calls.map((call) => [call.callID, call.state]));
          assert.is(stored.size, calls.length, 'two calls have one id');
          for (const [callID, { output, isError }] of accepted) {
            const state = stored.get(callID);
            assert.is(state?.status, isError ? 'error' : 'completed');
            assert.is(state?.status === 'error' ? state.error : state?.status === 'completed' && state.output, output);
          }
          const running = calls.filter(({ state }) => state.status === 'running').map(({ callID }) => callID);
          assert.equal(running, session.awaitedCalls?.callIDs ?? []);
          for (const { promptID, answers } of resumed) assert.ok((await answersTo(promptID)) > answers);
          assert.equal([await store.owed(id), await store.unfinished()], [[], []]);
        },
      ),
      { numRuns: thorough(20, 1500) },
    ),
  );
});
