import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import type { Answering } from './harness/fake-services.ts';
import { ADMIN_KEY, AGENT_PASSWORD, BRIDGE_KEY, createConsoleWorld, SECRET, USERS } from './harness/world.ts';

const BASIC = Buffer.from(`opencode:${AGENT_PASSWORD}`).toString('base64');
const HOOK = 'https://hook.example/canary-hook-token';
const HASHES = USERS.split(',').map((user) => user.split(':')[2] ?? '');
const CANARIES = [
  ADMIN_KEY,
  AGENT_PASSWORD,
  BRIDGE_KEY,
  SECRET,
  BASIC,
  HOOK,
  ...HASHES,
  'canary-journal',
  'canary-config',
];

/** A service that says back everything that it was sent, in results and in errors. */
const echoing =
  (status: number): Answering =>
  ({ headers, path }) => ({
    status: path === '/health' ? 200 : status,
    value: {
      error: { message: `no: ${JSON.stringify(headers)} ${ADMIN_KEY} ${BRIDGE_KEY} ${AGENT_PASSWORD}` },
      data: [{ id: `${JSON.stringify(headers)}` }],
      headers,
      [ADMIN_KEY]: [BRIDGE_KEY, SECRET, AGENT_PASSWORD],
    },
  });

const PATHS = [
  ...[
    '/',
    '/api/me',
    '/api/approvals',
    '/api/moderation',
    '/api/chat/models',
    '/api/chat/conversations/c-1',
    '/api/sessions',
    '/api/sessions/0/ses_1',
  ],
  ...[
    '/api/sessions/0/ses_1/messages',
    '/api/tools',
    '/api/config',
    '/api/recharges',
    '/api/nothing',
    '/metrics',
    '/ready',
  ],
];

describe('no secret', (check) => {
  for (const status of [200, 400, 401, 500])
    check(`is in any answer, whatever services with status ${status} say`, async () => {
      const service = echoing(status);
      const world = await createConsoleWorld({
        gateway: service,
        bridge: service,
        variables: { CONSOLE_NOTIFY_URL: HOOK, CONSOLE_PUBLIC_URL: 'https://console.example' },
        readJournal: async ({ take }) => {
          for (const line of [
            JSON.stringify({ kind: 'seal', secret: 'canary-journal-seal-of-thirty-two-characters' }),
            JSON.stringify({
              kind: 'claim',
              at: 1,
              by: 'b',
              token: 'canary-journal',
              key: 'canary-journal',
              marker: 'rc_1',
              userId: 7,
              amount: '1',
              balanceBefore: '2',
            }),
          ])
            take(line);
          return undefined;
        },
      });
      for (const agent of world.agents) {
        agent.ask('per_1', { note: `${AGENT_PASSWORD} ${ADMIN_KEY} ${SECRET}`, header: BASIC });
        agent.others['/session'] = [{ id: 'ses_1', title: `${ADMIN_KEY}`, time: { created: 1, updated: 2 } }];
        agent.others['/session/ses_1'] = { id: 'ses_1', title: BRIDGE_KEY, time: { created: 1, updated: 2 } };
        agent.others['/session/ses_1/message'] = [
          { info: { id: 'msg_1' }, parts: [{ text: `${SECRET} ${ADMIN_KEY}` }] },
        ];
        agent.others['/mcp'] = { relay: { status: 'failed', error: `refused with ${ADMIN_KEY}` } };
        agent.others['/config'] = {
          provider: { x: { options: { apiKey: 'canary-config-1', baseURL: 'https://u:canary-config-2@host' } } },
          mcp: { y: { environment: { PLAIN: 'canary-config-3' }, headers: { 'x-thing': 'canary-config-4' } } },
        };
      }
      await world.clock.advance(5000);
      const { headers } = await world.login('ann');
      const texts: string[] = [];
      for (const path of PATHS) texts.push(await (await world.send('GET', path, { headers })).text());
      for (const [path, body] of [
        ['/api/check', { model: 'm', input: 'x' }],
        ['/api/keys/abc', { action: 'release' }],
        ['/api/approvals/0/per_9', { reply: 'once', argumentsHash: 'x' }],
        ['/api/login', { name: 'ann', password: 'wrong' }],
      ] as const)
        texts.push(await (await world.send('POST', path, { headers, body })).text());
      const events = await world.send('GET', '/api/events', { headers });
      const chunks = events.body?.getReader();
      const [gateway] = world.services.streams.filter(({ url }) => url === '/admin/events');
      gateway?.send(
        `event: verdict\ndata: ${JSON.stringify({ alias: ADMIN_KEY })}\n\nevent: keys\ndata: {"keys":["${BRIDGE_KEY}"]}\n\n`,
      );
      for (let each = 0; each < 4; each++) {
        await world.clock.advance(200);
        texts.push(new TextDecoder().decode((await chunks?.read())?.value));
      }
      const chat = await world.send('POST', '/api/chat', { headers, body: { text: 'hello' } });
      const [bridge] = world.services.streams.filter(({ url }) => url === '/v1/chat/completions');
      assert.is(bridge?.headers.authorization, `Bearer ${BRIDGE_KEY}`);
      for (const part of [BRIDGE_KEY, BRIDGE_KEY.slice(0, 9), BRIDGE_KEY.slice(9)])
        bridge?.send(`data: {"choices":[{"delta":{"content":"${part}"}}]}\n\n`);
      bridge?.end();
      const said = await chat.text();
      texts.push(said, said.replace(/"\}\}\]\}\s*data: .*?"content":"/g, ''));
      const [message] = world.services.sent.filter(({ path }) => path === '/canary-hook-token');
      const { link = '' } = (message?.body ?? {}) as { link?: string };
      texts.push(await (await world.send('GET', new URL(link).pathname)).text());
      texts.push(...world.lines);
      const shown = texts.join('\n');
      assert.ok(shown.includes('per_1') && shown.includes('[redacted]'));
      for (const canary of CANARIES) assert.not.ok(shown.includes(canary), canary);
      world.stop();
    });
});
