import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { asyncProperty, assert as property } from 'fast-check';
import * as assert from 'uvu/assert';
import type { ToolAnswer } from '../../src/relay-admin/app.ts';
import { createRelayAdminServer } from '../../src/relay-admin/server.ts';
import { describe, thorough } from '../check.ts';
import { demandGoodAnswer } from './harness/answer-rules.ts';
import { KEY } from './harness/canaries.ts';
import { ARGUMENT, HOSTILE_PATHS, hostileCall, largeArguments, strangeEmail } from './harness/hostile-arguments.ts';
import { httpCall, wordOf } from './harness/http-calls.ts';
import {
  type Front,
  httpTools,
  SHORT_LIMIT_MS,
  withElsewhere,
  withFront,
  withHttpWorld,
} from './harness/http-world.ts';
import { demandGoodRequests } from './harness/request-rules.ts';
import { goodArguments, KEY_HOLDERS, READERS, TOOLS, type ToolName, WRITERS } from './harness/tool-arguments.ts';
import {
  callWithFailure,
  createWatchedWorld,
  demandTidyWorld,
  type WatchedWorld,
  watchedCall,
} from './harness/watched-world.ts';

const isRefusal = (answer: ToolAnswer, code: string): boolean =>
  answer.kind === 'failed' && answer.text.startsWith(code);

/** Calls with arguments that may be anything, and keeps no more of the requests than those of this call. */
const bluntCall = async (world: WatchedWorld, name: ToolName, given: unknown): Promise<ToolAnswer> => {
  world.control.clearRequests();
  world.thrown.length = 0;
  const answer = await watchedCall(world, name, given);
  if (answer.kind === 'failed') assert.not(answer.text.includes(ARGUMENT), answer.text);
  if (READERS.includes(name)) assert.equal(methodsIn(world), [], name);
  return answer;
};
const methodsIn = ({ control }: WatchedWorld): readonly string[] =>
  control
    .requests()
    .map(({ method }) => method)
    .filter((method) => method !== 'GET');

describe('hostile arguments', (check) => {
  check('reach no trap and make no request but a good one, whatever they are', async () => {
    const world = createWatchedWorld();
    await property(
      asyncProperty(hostileCall, async ([name, given]) => {
        world.logged.length = 0;
        await bluntCall(world, name, given);
      }),
      { numRuns: thorough(400, 4000) },
    );
  });
  check('as paths are refused before anything is sent', async () => {
    const world = createWatchedWorld();
    for (const path of HOSTILE_PATHS)
      for (const given of [{ path }, { path: `/api/v1/admin/${path}` }, { path, query: {} }]) {
        const answer = await bluntCall(world, 'read', given);
        assert.is(answer.kind, 'failed', path);
        assert.equal(world.control.requests(), [], path);
      }
  });
  check('as ids are refused before anything is sent', async () => {
    const world = createWatchedWorld();
    const ids = [
      '2',
      '2/../3',
      '../2',
      2.5,
      0,
      -1,
      2 ** 53,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      [2],
      { id: 2 },
      null,
      true,
    ];
    for (const id of ids)
      for (const [name, given] of [
        ['preview_recharge', { user_id: id, amount: '1' }],
        ['update_user_limits', { user_id: id, rpm_limit: 3 }],
        ['set_account_schedulable', { account_id: id, schedulable: false }],
      ] as const) {
        assert.ok(isRefusal(await bluntCall(world, name, given), 'INVALID_ARGUMENT'), String(id));
        assert.equal(world.control.requests(), []);
      }
  });
  check('as idempotency keys are refused before anything is sent or written down', async () => {
    const world = createWatchedWorld();
    const good = await goodArguments(world.admin, 'recharge');
    const lines = world.file.lines.length;
    for (const tail of [
      '\r\nX-Api-Key: x',
      '\n',
      '\u0000',
      ' ',
      '"',
      '%0d%0a',
      '/',
      '\u00e9',
      '\uff11',
      'k'.repeat(129),
    ]) {
      const given = { ...good, idempotency_key: `key-0000000000000001${tail}` };
      assert.ok(isRefusal(await bluntCall(world, 'recharge', given), 'INVALID_ARGUMENT'), JSON.stringify(tail));
      assert.equal([world.control.requests().length, world.file.lines.length], [0, lines]);
    }
    assert.is((await bluntCall(world, 'recharge', good)).kind, 'done');
  });
  check('beside the ones that a tool takes are refused, and forwarded by none', async () => {
    for (const name of TOOLS)
      for (const extra of ['api_key', 'authorization', 'headers', 'url', 'user', 'reason', '_meta', 'dry_run']) {
        const world = createWatchedWorld();
        const given = await goodArguments(world.admin, name);
        const answer = await bluntCall(world, name, { ...given, [extra]: `Bearer ${ARGUMENT}` });
        assert.ok(isRefusal(answer, 'INVALID_ARGUMENT'), `${name} ${extra}`);
        assert.equal(world.control.requests(), []);
      }
  });
  check('that are named like what every object has are no way in', async () => {
    for (const name of TOOLS)
      for (const extra of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
        const world = createWatchedWorld();
        const given = await goodArguments(world.admin, name);
        const text = JSON.stringify(given).replace(
          /\}$/,
          `${name === 'describe' || name === 'health' ? '' : ','}"${extra}":{"path":"settings","schedulable":true,"unlimited":true,"email":"${ARGUMENT}@example.com"}}`,
        );
        await bluntCall(world, name, JSON.parse(text));
        assert.not(JSON.stringify(world.control.requests()).includes(ARGUMENT));
        assert.is(Object.hasOwn(Object.prototype, 'path'), false);
      }
  });
  check('as large or as deep as a line may be are refused at once', async () => {
    const world = createWatchedWorld();
    for (const name of TOOLS)
      for (const given of largeArguments(name)) {
        const startedAt = performance.now();
        const answer = await world.admin.call(name, given, new AbortController().signal);
        assert.ok(performance.now() - startedAt < 2000, name);
        demandGoodAnswer(name, answer);
        assert.is(answer.kind, 'failed', name);
        assert.not(JSON.stringify(answer).includes(ARGUMENT));
      }
    assert.equal(world.control.requests(), []);
  });
  check('as e-mail arrive at the relay as they were given, and add nothing to the query', async () => {
    const world = createWatchedWorld();
    const NAMES = ['search', 'include_subscriptions', 'sort_by', 'sort_order', 'page', 'page_size'];
    await property(
      asyncProperty(strangeEmail, async (email) => {
        const answer = await bluntCall(world, 'find_user', { email });
        const requests = world.control.requests();
        if (isRefusal(answer, 'INVALID_ARGUMENT')) return assert.equal(requests, []);
        const query = new URL(requests[0]?.target ?? '', 'http://relay.test').searchParams;
        assert.equal([...query.keys()], NAMES);
        const whole = [...email.trim().toLowerCase()].slice(0, 100).join('');
        const search = query.get('search') ?? '';
        // No database finds a capital I with a dot by its lower case, so neither is part of the search.
        if (whole.includes('i\u0307')) assert.ok(whole.includes(search) && search.includes('@'));
        else assert.is(search, whole);
        return undefined;
      }),
      { numRuns: thorough(150, 1500) },
    );
  });
});

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

const STATUSES = [300, 301, 302, 303, 305, 307, 308];

/** Where a redirect may point, and nowhere. */
const locations = (here: string, { origin, host }: { readonly origin: string; readonly host: string }) => [
  ...[`${origin}/api/v1/admin/users`, `//${host}/`, `http://x:y@${host}/`, `\\\\${host}\\`],
  ...[`${here}/api/v1/admin/users`, '/api/v1/admin/users/2', 'users/2', '../../../settings', '?page=2', ''],
  ...['file:///etc/passwd', 'javascript:1', 'data:application/json,{"code":0,"data":{"id":2}}', undefined],
];

const redirectOf =
  (status: number, location: string | undefined): Front['meddle'] =>
  (_message, reply) => {
    reply.writeHead(status, location === undefined ? {} : { location }).end('{"code":0,"data":{"id":2}}');
    return true;
  };

describe('redirects', (check) => {
  check('end a read at once, wherever they lead, and are followed by no one', () =>
    withElsewhere((elsewhere) =>
      withFront(async (front) => {
        const tools = httpTools(front.origin);
        const given = new Map<ToolName, unknown>();
        for (const name of KEY_HOLDERS) given.set(name, await goodArguments(tools.admin, name));
        for (const status of STATUSES)
          for (const location of locations(front.origin, elsewhere))
            for (const name of KEY_HOLDERS) {
              const redirect = redirectOf(status, location);
              const seen: string[] = [];
              front.meddle = (message, reply) => {
                seen.push(`${message.method} ${message.url}`);
                return redirect(message, reply);
              };
              // A token that is refused stays good: nothing was sent with it.
              assert.is(
                wordOf(await httpCall(tools, name, given.get(name))),
                'UPSTREAM_REDIRECT',
                `${status} ${location}`,
              );
              assert.ok(seen.length <= 2 && new Set(seen).size === seen.length, seen.join());
            }
        assert.is(elsewhere.visits(), 0);
      }),
    ),
  );
  check('of a health check are a reason, and of lists too', () =>
    withElsewhere((elsewhere) =>
      withFront(async (front) => {
        const tools = httpTools(front.origin);
        for (const status of STATUSES)
          for (const location of locations(front.origin, elsewhere)) {
            front.meddle = redirectOf(status, location);
            const health = await httpCall(tools, 'health', {});
            assert.ok(health.kind === 'done' && health.result.reason === 'redirect');
            const options = await httpCall(tools, 'model_control_options', {});
            assert.ok(options.kind === 'done' && options.result.source === 'static');
          }
        assert.is(elsewhere.visits(), 0);
      }),
    ),
  );
  check('of a change leave in doubt what became of it, and are followed by no one', () =>
    withElsewhere(async (elsewhere) => {
      const expected = {
        recharge: 'accepted_unverified',
        update_user_limits: 'OUTCOME_UNKNOWN',
        set_account_schedulable: 'OUTCOME_UNKNOWN',
      };
      for (const status of STATUSES)
        for (const location of locations('http://127.0.0.1', elsewhere))
          await withFront(async (front) => {
            const tools = httpTools(front.origin);
            for (const name of ['recharge', 'update_user_limits', 'set_account_schedulable'] as const) {
              const given = await goodArguments(tools.admin, name);
              const changes: string[] = [];
              front.meddle = (message, reply) => {
                if (message.method === 'GET') return false;
                changes.push(String(message.url));
                return redirectOf(status, location)(message, reply);
              };
              const answer = await httpCall(tools, name, given);
              assert.is(wordOf(answer), expected[name], `${status} ${location}`);
              assert.is(changes.length, 1);
              front.meddle = () => false;
            }
            assert.equal(front.control.traps(), []);
          });
      assert.is(elsewhere.visits(), 0);
    }),
  );
});

type Oddity = readonly [string, string | undefined];

/** What a socket may say in place of an answer. Nothing at all is silence. */
const ODDITIES: readonly Oddity[] = [
  ['silence', undefined],
  ['half a head', 'HTTP/1.1 200 OK\r\ncontent-ty'],
  ['a body that does not come', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"code":0'],
  ['chunks that do not end', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{"c\r\n'],
  ['a chunk that is none', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'],
  ['no HTTP', `SSH-2.0-${KEY}\r\n`],
  ['a status that is none', `HTTP/1.1 ${'9'.repeat(20)} ${KEY}\r\n\r\n`],
  ['a head without end', `HTTP/1.1 200 OK\r\n${`x-echo: ${KEY}\r\n`.repeat(2000)}`],
  ['only interim answers', 'HTTP/1.1 103 Early Hints\r\nlink: </>\r\n\r\n'.repeat(2000)],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 9\r\n\r\n{}'],
  ['two answers', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'],
];

const LOOKS = 20;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What is really held: the least of some looks, because buffers are given back a while after their garbage is collected. */
const heldBytes = async (): Promise<number> => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < LOOKS; look += 1) {
    await turn();
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    least = Math.min(least, heapUsed + arrayBuffers);
  }
  return least;
};

describe('answers without end or measure', (check) => {
  for (const [what, outputText] of ODDITIES)
    check(`${what} is given up in time, and the next call works`, async () => {
      const tryOut = (name: ToolName) =>
        withFront(async (front) => {
          const tools = httpTools(front.origin, SHORT_LIMIT_MS);
          const given = await goodArguments(tools.patient.admin, name);
          front.meddle = ({ socket }) => {
            if (outputText !== undefined) socket.write(outputText);
            return true;
          };
          await httpCall(tools, name, given);
          front.meddle = () => false;
          assert.is((await httpCall(tools.patient, 'read', { path: 'users' })).kind, 'done');
        });
      await Promise.all(TOOLS.map(tryOut));
    });
  check('of fifty megabytes cost no memory that stays', () =>
    withHttpWorld(async (world) => {
      world.control.useRouteFault('huge', Infinity);
      await world.admin.call('read', { path: 'users' }, new AbortController().signal);
      const beforeBytes = await heldBytes();
      for (let call = 0; call < thorough(2, 20); call += 1) {
        const answer = await world.admin.call('read', { path: 'users' }, new AbortController().signal);
        assert.match(answer.kind === 'failed' ? answer.text : '', /^UPSTREAM_CONTRACT: .* more than these tools take/);
      }
      const moreBytes = (await heldBytes()) - beforeBytes;
      assert.ok(moreBytes < 20 * 1024 * 1024, `${moreBytes} bytes more`);
      const health = await httpCall(world, 'health', {});
      assert.is(health.kind === 'done' && health.result.reason, 'too_large');
      world.control.clearFaults();
      assert.is((await httpCall(world, 'read', { path: 'users' })).kind, 'done');
    }),
  );
  check('no one at all at the address is an answer, too', async () => {
    let origin = '';
    await withElsewhere(async (elsewhere) => {
      origin = elsewhere.origin;
    });
    const tools = httpTools(origin);
    for (const name of TOOLS.filter((one) => one !== 'recharge')) {
      const given = await goodArguments(tools.admin, name);
      const answer = await httpCall(tools, name, given);
      const isOwn = ['describe', 'health', 'model_control_options'].includes(name);
      assert.is(wordOf(answer), isOwn ? 'done' : 'UPSTREAM_UNAVAILABLE', name);
    }
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
