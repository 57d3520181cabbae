import * as assert from 'uvu/assert';
import { answer, calls, type ScriptedCall } from '../../../src/demo/model/reply.ts';
import type { Check } from '../../check.ts';
import { isNoTitle } from '../agent/world.ts';
import { asked, newText, sessionsOf } from '../bridge/clients.ts';
import { addCalls, lookup } from '../bridge/own-tools.ts';
import type { BridgeWorld } from '../bridge/world.ts';
import type { CallPythonClient } from './python-clients.ts';

/** A client library: a function of `python/`, and where it is installed. */
export type PythonClient = {
  readonly name: string;
  readonly client: string;
  readonly missing: string | undefined;
  readonly call: CallPythonClient;
};

/** The clients, and what gives the body of a check the servers. `lacking`: what the check needs and is not there. */
export type PythonToolNeeds = {
  readonly clients: readonly PythonClient[];
  readonly beside: (
    lacking: string | undefined,
    body: (world: BridgeWorld) => Promise<void>,
  ) => () => Promise<void> | void;
};

type Done = { readonly answer?: string; readonly value?: unknown; readonly ran: readonly string[] };

/** What the model was told of the client's tool before its last step. */
const lastResult = (world: BridgeWorld): string | undefined =>
  asked(world)
    .at(-1)
    ?.turns.findLast(({ role }) => role === 'tool')?.text;

/** Libraries that run a tool of the client: `client_lookup` of `python/shared.py`. */
export const checkPythonTools = (check: Check, { clients, beside }: PythonToolNeeds): void => {
  for (const { name, client, missing, call } of clients)
    check.needing(
      missing,
      `(${name}) runs its own tool, and has the answer of the same session`,
      beside(missing, async (world) => {
        const before = (await sessionsOf(world)).length;
        // Without words before them: some libraries take those for the answer.
        world.model.addReply(answer(calls(lookup('Oslo'))), isNoTitle);
        world.model.addReply('It is five.', isNoTitle);
        const { answer: words = '', ran } = (await call(client, world.bridge, [newText()])) as Done;
        assert.match(words, /It is five\.$/);
        assert.equal([ran, lastResult(world), asked(world).length], [['Oslo'], 'Five degrees in Oslo', 2]);
        assert.is((await sessionsOf(world)).length, before + 1);
      }),
    );
};

const CITY = { name: 'Oslo' };
/** How a library has its model give the value: by a tool of the client with this name, or in the form that the agent gives. */
type ValueClient = PythonClient & { readonly tool: ScriptedCall['name'] };

/** Libraries that run a tool of the client, and then get an object of a class. */
export const checkPythonToolsAndValue = (
  check: Check,
  { clients, beside }: PythonToolNeeds & { readonly clients: readonly ValueClient[] },
): void => {
  for (const { name, client, missing, call, tool } of clients)
    check.needing(
      missing,
      `(${name}) runs its own tool, and gets an object of its class in the same session`,
      beside(missing, async (world) => {
        const before = (await sessionsOf(world)).length;
        addCalls(world, lookup('Oslo'));
        world.model.addReply(answer(calls({ name: tool, arguments: CITY })), isNoTitle);
        const { value, ran } = (await call(client, world.bridge, [newText()])) as Done;
        assert.equal([value, ran, lastResult(world)], [CITY, ['Oslo'], 'Five degrees in Oslo']);
        assert.is(asked(world).length, 2);
        assert.is((await sessionsOf(world)).length, before + 1);
      }),
    );
};
