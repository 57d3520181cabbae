import { request } from 'node:http';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { awaitedLater } from '../agent/process.ts';
import { judgedBy, type Script, startBackend } from '../backends.ts';
import { fetchText } from '../client.ts';
import { type Gateway, startGateway } from './process.ts';

const OLD = { gateway: 'canary-old-gateway-key', backend: 'canary-old-backend-key' };
const NEW = { gateway: 'canary-new-gateway-key', backend: 'canary-new-backend-key' };

/** One question on a connection of its own, and the status that it got. */
const ask = (address: string, key: string, input: string): Promise<number | undefined> =>
  new Promise((settle, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const call = request(`${address}/v1/moderations`, { method: 'POST', agent: false, headers }, (response) => {
      response.resume().on('end', () => settle(response.statusCode));
    });
    call.on('error', reject);
    call.end(JSON.stringify({ input }));
  });

describe('two replicas of the gateway', (check) => {
  check('change gateway keys and backend keys by restarts, and no request fails', async () => {
    let revoked: string | undefined;
    let key = OLD.gateway;
    let isOver = false;
    const script: Script = ({ authorization }) =>
      authorization === `Bearer ${revoked}` ? { status: 401, body: '{}' } : { delayMs: 5 };
    const backend = await startBackend(script);
    const replicas: Gateway[] = [];
    /** The addresses that a load balancer gives requests to. */
    const inTurn: string[] = [];
    const underWay = new Set<Promise<unknown>>();
    const send = (key: string, turn: number, client: number): Promise<number | undefined> => {
      const sent = ask(inTurn[turn % inTurn.length] ?? '', key, `text ${turn} of ${client}`);
      underWay.add(sent);
      return sent.finally(() => underWay.delete(sent));
    };
    const start = (keys: readonly (typeof OLD)[], port: string): Promise<Gateway> =>
      startGateway({
        ...judgedBy(backend.address),
        PORT: port,
        MODERATION_API_KEYS: keys.map(({ gateway }) => gateway).join(','),
        BACKEND_API_KEYS: keys.map((key) => key.backend).join(','),
      });
    const restartAll = async (keys: readonly (typeof OLD)[]): Promise<void> => {
      for (const replica of [...replicas]) {
        // Out of the balancer first: a connection that is not taken yet is refused or reset when the port closes.
        inTurn.splice(inTurn.indexOf(replica.address), 1);
        await Promise.all(underWay);
        replica.signal('SIGTERM');
        assert.equal(await replica.ended, { code: 0, signal: null });
        replicas[replicas.indexOf(replica)] = await start(keys, new URL(replica.address).port);
        inTurn.push(replica.address);
      }
    };
    try {
      replicas.push(await start([OLD], '0'), await start([OLD], '0'));
      inTurn.push(...replicas.map(({ address }) => address));
      const statuses: (number | undefined)[] = [];
      const clients = [1, 2, 3, 4].map(async (client) => {
        for (let turn = client; !isOver; turn++) statuses.push(await send(key, turn, client));
      });
      const asked = awaitedLater(Promise.all(clients));
      await restartAll([OLD, NEW]);
      key = NEW.gateway;
      revoked = OLD.backend;
      await restartAll([NEW]);
      isOver = true;
      await asked;
      assert.equal([...new Set(statuses)], [200]);
      assert.ok(statuses.length > 100, `${statuses.length} requests`);
      const [last = ''] = inTurn;
      const before = backend.calls.length;
      assert.equal([await ask(last, OLD.gateway, 'old'), await ask(last, NEW.gateway, 'new')], [401, 200]);
      assert.equal(
        backend.calls.slice(before).map(({ authorization }) => authorization),
        [`Bearer ${NEW.backend}`],
      );
    } finally {
      isOver = true;
      await Promise.all(replicas.map((replica) => replica.kill()));
      await backend.stop();
    }
  });

  check.thorough(
    'rest every key when all are refused, say so to anyone who asks, and are well after a restart with new ones',
    async () => {
      let isRevoked = false;
      const backend = await startBackend(({ authorization }) =>
        isRevoked && authorization === `Bearer ${OLD.backend}` ? { status: 401, body: '{}' } : undefined,
      );
      const start = (key: string) =>
        startGateway({ ...judgedBy(backend.address), MODERATION_API_KEYS: NEW.gateway, BACKEND_API_KEYS: key });
      const resting = await start(OLD.backend);
      try {
        assert.is(await ask(resting.address, NEW.gateway, 'known'), 200);
        isRevoked = true;
        assert.is(await ask(resting.address, NEW.gateway, 'one'), 503);
        assert.is(await ask(resting.address, NEW.gateway, 'known'), 200);
        assert.match((await fetchText(`${resting.address}/ready`)).text, 'every backend key is cooling down');
        const { text } = await fetchText(`${resting.address}/metrics`);
        assert.match(text, /^gatehouse_backend_key_state\{key="[0-9a-f]{8}",state="cooling"\} 1$/m);
        assert.match(text, /^gatehouse_backend_key_rest_seconds\{key="[0-9a-f]{8}"\} (?:599|600)/m);
        assert.match(resting.stderr(), /"event":"backend-key".*"reason":"auth"/);
      } finally {
        await resting.kill();
      }
      const well = await start(NEW.backend);
      try {
        assert.is(await ask(well.address, NEW.gateway, 'one'), 200);
      } finally {
        await well.kill();
        await backend.stop();
      }
    },
  );
});
