import * as assert from 'uvu/assert';
import { type HttpClient, HttpClientError, type HttpResponse } from '../../src/core/http/client.ts';
import { createSemaphore } from '../../src/core/semaphore.ts';
import type { ToolAnswer } from '../../src/relay-admin/app.ts';
import { createRelayClient } from '../../src/relay-admin/relay/client.ts';
import { describe, sampled } from '../check.ts';
import { BALANCE_FAULTS, ROUTE_FAULTS } from '../demo/relay/faults/names.ts';
import { createFakeClock } from '../fake-clock.ts';
import { ECHOES, HOSTILE_TEXTS, KEY, leaksIn, UNKNOWN_NAME, wholeError } from './harness/canaries.ts';
import { httpCall } from './harness/http-calls.ts';
import { SHORT_LIMIT_MS, withHttpWorld } from './harness/http-world.ts';
import { poisoned, refusalWith } from './harness/poisoned.ts';
import { demandGoodRequests, READ_EXAMPLES } from './harness/request-rules.ts';
import { settledWithin } from './harness/settled.ts';
import { goodArguments, TOOLS, type ToolName } from './harness/tool-arguments.ts';
import {
  callWithFailure,
  changesIn,
  createWatchedWorld,
  LIMIT_MS,
  type WatchedWorld,
  watchedCall,
} from './harness/watched-world.ts';

/** How many requests a tool makes when all goes well. */
const requestsOf = async (name: ToolName): Promise<number> => {
  const { world } = await callWithFailure(name, () => {});
  return world.sent.length;
};

const UNTOUCHED = changesIn(createWatchedWorld());

/** A tool may not know, but it may not be wrong. */
const demandTruth = (world: WatchedWorld, answer: ToolAnswer): void => {
  const isChanged = changesIn(world) !== UNTOUCHED;
  if (answer.kind === 'failed' && answer.text.includes('outcome=not_applied')) assert.not(isChanged, answer.text);
  if (answer.kind === 'done' && answer.result.outcome === 'verified') assert.ok(isChanged);
};

describe('nine tools over a relay that fails', (check) => {
  for (const name of TOOLS) {
    for (const fault of ROUTE_FAULTS) {
      check(`${name} keeps every secret, its word and its time when every request meets ${fault}`, async () => {
        const { world, answer } = await callWithFailure(name, ({ control }) => control.useRouteFault(fault, Infinity));
        demandTruth(world, answer);
      });
    }
    check(`${name} does so whichever of its requests meets a fault`, async () => {
      const requests = await requestsOf(name);
      for (let hit = 1; hit <= requests; hit += 1)
        for (const fault of sampled(ROUTE_FAULTS, 4)) {
          const { world, answer } = await callWithFailure(name, (world) => {
            world.beforeSending = (number) => {
              if (number === hit) world.control.useRouteFault(fault);
            };
          });
          demandTruth(world, answer);
        }
    });
  }
  for (const fault of BALANCE_FAULTS) {
    check(`recharge keeps every secret, its word and its time when the credit meets ${fault}`, async () => {
      const { world, given, answer } = await callWithFailure('recharge', ({ control }) => control.useFault(fault));
      demandTruth(world, answer);
      // Asked again with the same pair it looks, and says no less.
      demandTruth(world, await watchedCall(world, 'recharge', given));
    });
    check(`recharge does so when nothing can be read after ${fault}`, async () => {
      const { world, answer } = await callWithFailure('recharge', (world) => {
        world.control.useFault(fault);
        world.beforeSending = (_, { method }) => {
          if (method === 'POST') world.control.useRouteFault('echo-key-400', Infinity);
        };
      });
      demandTruth(world, answer);
    });
  }
  check(
    'none says that something is wrong with the server itself when a connection breaks in an unknown way',
    async () => {
      for (const name of TOOLS)
        for (const code of [
          'ECONNRESET',
          'CERT_HAS_EXPIRED',
          'HPE_INVALID_CONSTANT',
          'ANSWER_TOO_LARGE',
          'X'.repeat(64),
        ])
          await callWithFailure(name, (world) => {
            world.beforeSending = () => {
              throw new HttpClientError(code);
            };
          });
    },
  );
});

/** A good call over a relay that has the poison in every answer. */
const callPoisoned = (name: ToolName, poison: string) =>
  callWithFailure(name, () => {}, {
    unknownName: poison.includes(UNKNOWN_NAME) ? UNKNOWN_NAME : '',
    before(world) {
      world.onReceiving = (received) => poisoned(received, poison);
    },
  });

const POISONS = [...ECHOES, ...HOSTILE_TEXTS];

describe('nine tools over a relay that repeats the key and what users wrote', (check) => {
  for (const name of TOOLS) {
    check(`${name} shows none of it in any text or name of an answer`, async () => {
      for (const poison of sampled(POISONS, 4)) {
        const { answer } = await callPoisoned(name, poison);
        assert.is(answer.kind, 'done', poison);
      }
    });
    check(`${name} shows none of it when the relay refuses with it`, async () => {
      for (const status of [400, 403, 409, 422, 500])
        for (const poison of [KEY, 'IDEMPOTENCY_KEY_CONFLICT', `${KEY} ${UNKNOWN_NAME}`])
          await callWithFailure(
            name,
            (world) => {
              world.onReceiving = () => refusalWith(status, poison);
            },
            { unknownName: UNKNOWN_NAME },
          );
    });
  }
  check('read shows none of it on any of its routes', async () => {
    for (const path of READ_EXAMPLES) {
      const world = createWatchedWorld();
      for (const poison of sampled(POISONS, 4)) {
        world.sent.length = 0;
        world.control.clearRequests();
        world.onReceiving = (received) => poisoned(received, poison);
        await watchedCall(world, 'read', { path }, poison.includes(UNKNOWN_NAME) ? UNKNOWN_NAME : '');
      }
    }
  });
  check('who has a secret for an e-mail address is found, and the secret is not shown', async () => {
    for (const email of [
      `${KEY.slice(0, 60)}@example.com`,
      `bob@${KEY}.example`,
      `${UNKNOWN_NAME}+${KEY.slice(6, 50)}@example.com`,
    ]) {
      const world = createWatchedWorld();
      const user = world.control.user(2);
      user.email = email;
      const { signal } = new AbortController();
      const answer = await world.admin.call('find_user', { email }, signal);
      assert.is(answer.kind, 'done', email);
      assert.equal(leaksIn(JSON.stringify(answer)), []);
      await watchedCall(world, 'preview_recharge', { user_id: 2, amount: '1' }, UNKNOWN_NAME).catch((error) => {
        // The address itself was asked for; it is only the request that has it.
        assert.match(String(error), /the key is elsewhere/);
      });
    }
  });
});

const SOCKET_FAULTS = [
  'drop',
  'drop-after',
  'stuck',
  'stuck-after',
  'drip',
  'huge',
  'bomb',
  'redirect-307',
  'html',
  'garbage',
  'unauthorized',
  'echo-key-400',
  'not-modified',
] as const;
const CREDIT_FAULTS = ['drop-before', 'drop-after', 'stuck', 'echo-key-500', 'huge-after', 'redirect'] as const;
/** Half of it has to be left when a change is sent, also on a busy machine. */
const CREDIT_LIMIT_MS = 3000;

describe('nine tools over sockets', (check) => {
  check('keep every secret, their word and their time, and nothing but good requests is on the wire', async () => {
    const tryOut = (name: ToolName) =>
      withHttpWorld(async (world) => {
        for (const fault of sampled(SOCKET_FAULTS, 3)) {
          world.control.clearFaults();
          const given = await goodArguments(world.patient.admin, name);
          world.control.useRouteFault(fault, Infinity);
          await httpCall(world, name, given);
        }
        world.control.clearFaults();
        const { patient } = world;
        const last = await httpCall(patient, name, await goodArguments(patient.admin, name));
        assert.is(last.kind, 'done', name);
        demandGoodRequests(world.control.requests());
        assert.equal(world.control.traps(), []);
      }, SHORT_LIMIT_MS);
    await Promise.all(TOOLS.map(tryOut));
  });
  check('recharge does so when the credit itself meets a fault', async () => {
    const tryOut = (fault: (typeof CREDIT_FAULTS)[number]) =>
      withHttpWorld(async (world) => {
        const given = await goodArguments(world.patient.admin, 'recharge');
        world.control.useFault(fault);
        for (const _ of ['once', 'again']) {
          const answer = await httpCall(world, 'recharge', given);
          assert.is(answer.kind, 'done', fault);
        }
        assert.ok(world.control.credits().length <= 1, fault);
        demandGoodRequests(world.control.requests());
      }, CREDIT_LIMIT_MS);
    await Promise.all(CREDIT_FAULTS.map(tryOut));
  });
});

const GOOD: HttpResponse = { status: 200, header: () => null, text: '{"code":0,"message":"success","data":{}}' };

/** What the relay port throws when the exchange below it does as told. */
const thrownBy = async (httpClient: HttpClient): Promise<readonly unknown[]> => {
  const clock = createFakeClock();
  const relay = createRelayClient({
    address: { origin: 'http://relay.test', host: 'relay.test' },
    key: { kind: 'present', secret: KEY },
    httpClient,
    clock,
    gate: createSemaphore(8, 8),
    version: '0.0.0',
  });
  const { signal } = new AbortController();
  const caught = (promise: Promise<unknown>) =>
    settledWithin(
      { clock, limitMs: LIMIT_MS, isAsking: () => true },
      promise.catch((error: unknown) => error),
    );
  return [
    await caught(relay.get('users', { page: 1 }, signal)),
    await caught(relay.send({ method: 'PUT', path: 'users/1', body: '{}' }, signal)),
    await caught(relay.health(signal).then(() => undefined)),
  ];
};

describe('what is thrown on the way', (check) => {
  check('holds no key in its message, stack or cause, whatever the exchange threw', async () => {
    const failures: readonly unknown[] = [
      new HttpClientError('ECONNRESET'),
      Object.assign(new TypeError('fetch failed'), { cause: new Error('socket hang up') }),
      new DOMException('gone', 'AbortError'),
    ];
    for (const failure of failures)
      for (const thrown of await thrownBy(() => Promise.reject(failure))) assert.equal(leaksIn(wholeError(thrown)), []);
  });
  check('holds nothing of a body or a header that a refusal came with', async () => {
    for (const status of [200, 204, 300, 304, 307, 400, 401, 403, 404, 409, 423, 429, 500, 503, 599])
      for (const thrown of await thrownBy(async () => ({ ...GOOD, ...refusalWith(status, KEY) })))
        assert.equal(leaksIn(wholeError(thrown)), [], `${status}`);
  });
});
