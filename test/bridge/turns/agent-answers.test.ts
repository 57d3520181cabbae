import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { polite } from '../harness/story-world.ts';
import { prompts, user, withBridge } from '../harness/world.ts';

/** What the agent server answers to a request that begins a turn, and what the client is told. */
type Told = {
  readonly name: string;
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly expected: readonly [status: number, code: string];
  readonly message?: RegExp;
};

const TOLD: readonly Told[] = [
  { name: 'another password', status: 401, expected: [502, 'agent_unauthorized'], message: /AGENT_SERVER_PASSWORD/ },
  {
    name: 'why it refuses',
    status: 400,
    body: { data: { message: 'Expected\na   string' } },
    expected: [502, 'agent_refused'],
    message: /status 400: Expected a string/,
  },
  {
    name: 'an error whose text may say too much',
    status: 500,
    body: { data: { message: 'password canary' } },
    expected: [502, 'agent_refused'],
    message: /status 500$/,
  },
  {
    name: 'that the prompt is too large',
    status: 413,
    body: { data: { message: 'Expected at most 1 MiB' } },
    expected: [413, 'prompt_too_large'],
    message: /Expected at most 1 MiB/,
  },
  { name: 'that it is not ready', status: 503, headers: { 'retry-after': '7' }, expected: [503, 'unavailable'] },
  { name: 'what a proxy says that has lost it', status: 502, expected: [502, 'agent_lost'] },
  { name: 'what a proxy says that waited too long', status: 504, expected: [502, 'agent_lost'] },
  {
    name: 'that its disk is full',
    status: 507,
    body: { data: { code: 'disk_full' } },
    expected: [507, 'agent_disk_full'],
  },
  {
    name: 'that its disk fails',
    status: 500,
    body: { data: { code: 'disk_failing' } },
    expected: [502, 'agent_store_failed'],
  },
  {
    name: 'that its database is damaged',
    status: 500,
    body: { data: { code: 'store_damaged' } },
    expected: [502, 'agent_store_failed'],
  },
  { name: 'a web page', status: 200, body: '<html>', expected: [502, 'agent_unusable'], message: /AGENT_BASE_URL/ },
  { name: 'an error with 200', status: 200, body: { name: 'UnknownError', data: {} }, expected: [502, 'agent_failed'] },
];

describe('a client whose turn the agent server does not begin', (check) => {
  for (const { name, status, body = '', headers = {}, expected, message = /./ } of TOLD) {
    check(`is told of ${name}, and nothing is begun`, () =>
      withBridge({ scripts: [polite] }, async (world) => {
        world.replaceAgent(async (request) =>
          new URL(request.url).pathname === '/gatehouse/turns'
            ? new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers })
            : world.agent.server.handler(request),
        );
        for (const stream of [false, true]) {
          const response = await world.send('/v1/chat/completions', { messages: [user('hello')], stream });
          const { error } = JSON.parse(await response.text()) as { readonly error: { code: string; message: string } };
          assert.equal([response.status, error.code], expected);
          assert.match(error.message, message);
          assert.not.match(error.message, 'canary');
          assert.is(response.headers.get('retry-after'), headers['retry-after'] ?? null);
        }
        assert.is(prompts(world).length, 0);
      }),
    );
  }
});
