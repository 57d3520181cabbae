import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as assert from 'uvu/assert';
import { createRelayAdminServer } from '../../../src/relay-admin/server.ts';
import { describe } from '../../check.ts';
import { ARGUMENT } from '../harness/hostile-arguments.ts';
import { httpCall, wordOf } from '../harness/http-calls.ts';
import { withHttpWorld } from '../harness/http-world.ts';
import { demandGoodRequests } from '../harness/request-rules.ts';
import { goodArguments, KEY_HOLDERS, READERS, TOOLS, WRITERS } from '../harness/tool-arguments.ts';
import { callWithFailure, createWatchedWorld, demandTidyWorld } from '../harness/watched-world.ts';
import { bluntCall, isRefusal, methodsIn } from './world.ts';

describe('requests', (check) => {
  check('of a tool that reads are reads, also when everything fails', async () => {
    for (const name of READERS)
      for (const fault of ['internal', 'echo-key-400', 'redirect-307', 'drop', 'wrong-shape', 'terms'] as const) {
        const { world } = await callWithFailure(name, ({ control }) => control.useRouteFault(fault, Infinity));
        assert.equal(methodsIn(world), [], name);
      }
  });
  check('of a tool that changes something are reads and one change', async () => {
    for (const name of WRITERS) {
      const { world, answer } = await callWithFailure(name, () => {});
      assert.is(wordOf(answer), 'verified');
      assert.is(methodsIn(world).length, 1);
    }
  });
  check('carry the key in one header and the name of the relay in Host, and none to what is public', () =>
    withHttpWorld(async (world) => {
      for (const name of TOOLS) await httpCall(world, name, await goodArguments(world.admin, name));
      const requests = world.control.requests();
      demandGoodRequests(requests);
      assert.ok(requests.length > 15);
      assert.ok(requests.every(({ headers }) => headers.host === world.host));
      assert.equal(
        requests.filter(({ headers }) => !Object.hasOwn(headers, 'x-api-key')).map(({ target }) => target),
        ['/health', '/api/v1/settings/public'],
      );
    }),
  );
  check('hold nothing of what a client sends beside its arguments', async () => {
    const world = createWatchedWorld();
    const server = createRelayAdminServer({ admin: world.admin, version: '0.0.0', onStrayInput: () => {} });
    const client = new Client({ name: 'client', version: '0.0.0' });
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(ours), client.connect(theirs)]);
    await client.listTools();
    const _meta = { authorization: `Bearer ${ARGUMENT}`, 'x-api-key': ARGUMENT, url: 'http://evil.example' };
    for (const name of TOOLS) {
      const given = { ...(await goodArguments(world.admin, name)) };
      const result = await client.callTool({ name, arguments: given, _meta });
      assert.not(result.isError, name);
    }
    assert.not(JSON.stringify([world.control.requests(), world.file.lines, world.logged]).includes(ARGUMENT));
    demandTidyWorld(world);
    await client.close();
  });
  check('are at most sixteen at a time, however many calls there are', async () => {
    const world = createWatchedWorld();
    let most = 0;
    let asking = 0;
    world.beforeSending = () => {
      asking += 1;
      most = Math.max(most, asking);
    };
    world.onReceiving = (received) => {
      asking -= 1;
      return received;
    };
    const calls = Array.from({ length: 1000 }, (_, index) =>
      index % 2 === 0
        ? world.admin.call('read', { path: 'users' }, new AbortController().signal)
        : world.admin.call('preview_recharge', { user_id: 2, amount: '1' }, new AbortController().signal),
    );
    for (const answer of await Promise.all(calls)) assert.is(answer.kind, 'done');
    assert.ok(most <= 16, `${most} at a time`);
  });
});

describe('a relay that lets no one in', (check) => {
  check('for want of accepted terms is said so by every tool with a key, and no tool accepts them', async () => {
    for (const name of KEY_HOLDERS) {
      const { world, answer } = await callWithFailure(name, ({ control }) => control.setTermsAccepted(false));
      assert.ok(isRefusal(answer, 'TERMS_NOT_ACCEPTED'), name);
      assert.equal(
        world.control.requests().filter(({ target }) => target.includes('compliance')),
        [],
      );
      assert.equal(methodsIn(world), []);
    }
  });
  check('because the key was made anew is said so by every tool with a key', async () => {
    for (const name of KEY_HOLDERS) {
      const { answer } = await callWithFailure(name, ({ control }) => control.setKey(`admin-${'0'.repeat(64)}`));
      assert.ok(isRefusal(answer, 'UPSTREAM_AUTH'), name);
    }
  });
  check('is no reason not to explain what can be limited', async () => {
    const { answer } = await callWithFailure('model_control_options', ({ control }) => control.setTermsAccepted(false));
    assert.ok(answer.kind === 'done' && answer.result.source === 'static');
  });
});

describe('read-only mode', (check) => {
  const readOnly = () => createWatchedWorld({ RELAY_READ_ONLY: 'true' });
  check('lists no tool that changes anything and refuses each by its name, with any arguments', async () => {
    const world = readOnly();
    assert.equal(
      world.admin.tools.map(({ name }) => name),
      [...READERS],
    );
    const token = await goodArguments(createWatchedWorld().admin, 'recharge');
    for (const name of WRITERS)
      for (const given of [{}, token, { user_id: 2, rpm_limit: 1 }, { account_id: 1, schedulable: false }, null, 'x'])
        assert.ok(isRefusal(await bluntCall(world, name, given), 'READ_ONLY'), name);
    assert.equal(world.control.requests(), []);
  });
  check('sends nothing but reads from any of the nine, and hands out no token', async () => {
    const world = readOnly();
    for (const name of TOOLS) {
      const given = name === 'recharge' ? {} : await goodArguments(world.admin, name);
      const answer = await bluntCall(world, name, given);
      assert.equal(methodsIn(world), [], name);
      if (name === 'preview_recharge') assert.ok(answer.kind === 'done' && answer.result.preview_token === null);
    }
  });
});
