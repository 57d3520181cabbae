import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { answering } from '../harness/model-scripts.ts';
import { type BridgeGiven, type BridgeWorld, KEY, OTHER_KEY, prompts, user, withBridge } from '../harness/world.ts';

const polite = answering((words) => `re ${words}`);
const CHAT = { messages: [user('hi')] };
const OTHERS = { authorization: `Bearer ${OTHER_KEY}` };

const withPolite = (body: (world: BridgeWorld) => Promise<void>, given: BridgeGiven = {}): Promise<void> =>
  withBridge({ scripts: [polite], ...given }, body);

type ErrorRow = {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string;
};
const errorOf = async (response: Response): Promise<ErrorRow & { readonly status: number }> => {
  const { error } = (await response.json()) as { error: ErrorRow };
  return { status: response.status, ...error };
};

describe('a key', (check) => {
  check('is needed for everything that has to do with the agent', () =>
    withPolite(async (world) => {
      const paths = ['/v1/models', '/v1/models/demo/main', '/v1/responses/resp_a_bbbbbbbbbbbb'];
      const bodies = { '/v1/chat/completions': CHAT, '/v1/responses': { input: 'hi' } };
      for (const authorization of [
        '',
        'Bearer',
        'Bearer wrong',
        `Basic ${btoa(`opencode:${KEY}`)}`,
        `Bearer ${KEY}x`,
      ]) {
        const answers = [
          ...paths.map((path) => world.send(path, undefined, { authorization })),
          ...Object.entries(bodies).map(([path, body]) => world.send(path, body, { authorization })),
        ];
        for (const response of await Promise.all(answers)) {
          assert.is(response.headers.get('www-authenticate'), 'Bearer');
          const { status, code } = await errorOf(response);
          assert.equal([status, code], [401, 'invalid_api_key'], authorization);
        }
      }
      // The bridge itself follows the events and reads the sessions.
      assert.equal(world.calls.filter(({ path }) => path !== '/event' && path !== '/session').length, 0);
    }),
  );

  check('is not needed to see how the bridge is', () =>
    withPolite(async (world) => {
      const nobody = { authorization: '' };
      const health = await world.send('/health', undefined, nobody);
      assert.equal(await health.json(), { status: 'ok', service: 'bridge', version: '0.0.0-test' });
      await world.chat(CHAT);
      assert.is((await world.send('/ready', undefined, nobody)).status, 200);
      const openApi = (await (await world.send('/openapi.json', undefined, nobody)).json()) as { paths: object };
      assert.ok('/v1/chat/completions' in openApi.paths);
      world.killAgent();
      assert.is((await world.send('/health', undefined, nobody)).status, 200);
    }),
  );

  check('opens nothing of another one', () =>
    withPolite(async (world) => {
      const made = await world.send('/v1/responses', { input: 'my secret' });
      const { id } = (await made.json()) as { id: string };
      const looks = [
        world.send(`/v1/responses/${id}`, undefined, OTHERS),
        world.bridge.handler(
          new Request(`http://bridge.test/v1/responses/${id}`, { method: 'DELETE', headers: OTHERS }),
        ),
      ];
      for (const response of await Promise.all(looks)) assert.is((await errorOf(response)).code, 'not_found');
      const after = await world.send('/v1/responses', { input: 'so?', previous_response_id: id }, OTHERS);
      assert.equal((await errorOf(after)).code, 'previous_response_not_found');
      const key = { 'idempotency-key': 'same' };
      const mine = await world.chat(CHAT, key);
      const theirs = await world.chat(CHAT, { ...key, ...OTHERS });
      assert.is.not(theirs.name, mine.name);
      assert.is((await world.send(`/v1/responses/${id}`)).status, 200);
    }),
  );
});

describe('a bridge without keys', (check) => {
  const ask = (world: BridgeWorld, headers: Readonly<Record<string, string>>) =>
    world.send('/v1/models', undefined, { authorization: '', ...headers });
  const open = { settings: { keys: [] }, isForThisMachine: true };

  check('answers programs of this machine, and no page that was led here', () =>
    withPolite(async (world) => {
      for (const host of ['127.0.0.1:4100', 'localhost', '[::1]:4100'])
        assert.is((await ask(world, { host })).status, 200);
      for (const headers of [
        { host: 'evil.example:4100' },
        { host: '127.0.0.1.evil.example' },
        { host: 'localhost:4100', origin: 'https://evil.example' },
        { host: 'localhost:4100', origin: 'null' },
        {},
      ])
        assert.equal((await errorOf(await ask(world, headers))).code, 'invalid_host', JSON.stringify(headers));
    }, open),
  );

  check('answers everyone where that was asked for', () =>
    withPolite(async (world) => assert.is((await ask(world, { host: 'bridge.example' })).status, 200), {
      ...open,
      isForThisMachine: false,
    }),
  );
});

describe('a page in a browser', (check) => {
  const from = (origin: string) => ({ origin, 'access-control-request-method': 'POST' });
  const preflight = (world: BridgeWorld, origin: string) =>
    world.bridge.handler(
      new Request('http://bridge.test/v1/chat/completions', { method: 'OPTIONS', headers: from(origin) }),
    );

  check('is let in from the origins that were given, and from no other', () =>
    withPolite(
      async (world) => {
        const allowed = await preflight(world, 'https://chat.example');
        assert.is(allowed.status, 204);
        assert.is(allowed.headers.get('access-control-allow-origin'), 'https://chat.example');
        assert.match(allowed.headers.get('access-control-allow-headers') ?? '', 'authorization');
        const reply = await world.send('/v1/chat/completions', CHAT, { origin: 'https://chat.example' });
        assert.is(reply.headers.get('access-control-allow-origin'), 'https://chat.example');
        assert.match(reply.headers.get('access-control-expose-headers') ?? '', 'x-session-id');
        await reply.text();
        const refused = await world.send('/v1/models', undefined, {
          origin: 'https://chat.example',
          authorization: '',
        });
        assert.is(refused.status, 401);
        assert.is(refused.headers.get('access-control-allow-origin'), 'https://chat.example');
        const other = await preflight(world, 'https://evil.example');
        assert.is(other.headers.get('access-control-allow-origin'), null);
        assert.is(other.status, 405);
      },
      { settings: { corsOrigins: ['https://chat.example'] } },
    ),
  );

  check('is not let in unless that was asked for', () =>
    withPolite(async (world) => {
      const reply = await world.send('/v1/models', undefined, { origin: 'https://chat.example' });
      assert.is(reply.headers.get('access-control-allow-origin'), null);
      assert.is((await preflight(world, 'https://chat.example')).headers.get('access-control-allow-origin'), null);
    }),
  );

  check('is let in from everywhere with a star', () =>
    withPolite(
      async (world) => {
        const allowed = await preflight(world, 'https://chat.example');
        assert.is(allowed.headers.get('access-control-allow-origin'), '*');
      },
      { settings: { corsOrigins: ['*'] } },
    ),
  );
});

describe('a path', (check) => {
  const plain = (world: BridgeWorld, method: string, path: string, headers = {}) =>
    world.bridge.handler(
      new Request(`http://bridge.test${path}`, { method, headers: { authorization: `Bearer ${KEY}`, ...headers } }),
    );

  check('that is none says what the base URL should be', () =>
    withPolite(async (world) => {
      for (const [path, hint] of [
        ['/v1/v1/models', 'holds /v1 twice'],
        ['/models', 'lacks /v1'],
        ['/chat/completions', 'lacks /v1'],
        ['/v1/embeddings', 'no embeddings here'],
        ['/v1/nothing', 'No such path'],
      ] as const) {
        const { status, code, message } = await errorOf(await plain(world, 'GET', path));
        assert.equal([status, code], [404, 'not_found']);
        assert.match(message, hint);
      }
    }),
  );

  check('says which methods it answers, and answers HEAD like GET', () =>
    withPolite(async (world) => {
      const wrong = await plain(world, 'GET', '/v1/chat/completions');
      assert.equal([wrong.status, wrong.headers.get('allow')], [405, 'POST']);
      const deleted = await plain(world, 'DELETE', '/v1/models');
      assert.equal([deleted.status, deleted.headers.get('allow')], [405, 'GET, HEAD']);
      const head = await plain(world, 'HEAD', '/v1/models');
      assert.equal([head.status, await head.text()], [200, '']);
      assert.is((await plain(world, 'HEAD', '/health')).status, 200);
    }),
  );

  check('is answered with a request id, the sane one of the caller', () =>
    withPolite(async (world) => {
      const given = await plain(world, 'GET', '/v1/models', { 'x-request-id': 'abc-1' });
      assert.is(given.headers.get('x-request-id'), 'abc-1');
      const forged = await plain(world, 'GET', '/nowhere', { 'x-request-id': 'a b' });
      assert.match(forged.headers.get('x-request-id') ?? '', /^req-\w{20}$/);
      const stream = await world.send('/v1/chat/completions', { ...CHAT, stream: true }, { 'x-request-id': 'abc-2' });
      assert.is(stream.headers.get('x-request-id'), 'abc-2');
      await stream.text();
      assert.match(world.logged.join('\n'), '"requestId":"abc-2"');
      assert.not.match(world.logged.join('\n'), 're hi');
      assert.is(prompts(world).length, 1);
    }),
  );
});
