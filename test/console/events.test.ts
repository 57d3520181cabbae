import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { type ConsoleWorld, createConsoleWorld } from './harness/world.ts';

type Seen = { readonly event: string; readonly data: unknown };

/** Reads the events of a response, as far as they have come. */
const reader = (answer: Response) => {
  const chunks = answer.body?.getReader();
  let text = '';
  let isOver = false;
  const pump = async (): Promise<void> => {
    for (;;) {
      const next = await chunks?.read();
      if (next === undefined || next.done) break;
      text += new TextDecoder().decode(next.value);
    }
    isOver = true;
  };
  void pump();
  const events = (): readonly Seen[] =>
    text
      .split('\n\n')
      .filter((block) => block !== '')
      .map((block) => ({
        event: /^event: (.*)$/m.exec(block)?.[1] ?? '',
        data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? 'null') as unknown,
      }));
  return {
    text: () => text,
    isOver: () => isOver,
    named: (name: string) =>
      events()
        .filter(({ event }) => event === name)
        .map(({ data }) => data),
    leave: () => chunks?.cancel(),
  };
};

const following = async (world: ConsoleWorld, name = 'vera') => {
  const { headers, csrf } = await world.login(name);
  const events = reader(await world.send('GET', '/api/events', { headers }));
  await world.clock.advance(200);
  return { ...events, headers, csrf };
};
const gatewayStreams = ({ services }: ConsoleWorld) => services.streams.filter(({ url }) => url === '/admin/events');
const verdict = (at: number) =>
  `event: verdict\nid: ${at}\ndata: ${JSON.stringify({ at, alias: 'moderation-fast', flagged: [] })}\n\n`;

describe('the events of the page', (check) => {
  check('begin with what is open and which services answer', async () => {
    const world = await createConsoleWorld();
    world.agents[0].ask('per_1');
    await world.clock.advance(5000);
    const page = await following(world);
    const [services] = page.named('services') as { part: string; state: string }[][];
    assert.equal(
      services?.map(({ part, state }) => `${part} ${state}`),
      ['agent up', 'agent up', 'gateway up', 'bridge up'],
    );
    const [first] = page.named('approvals') as { open: { id: string }[] }[];
    assert.equal(
      first?.open.map(({ id }) => id),
      ['per_1'],
    );
    world.stop();
  });

  check('show each change of the open requests whole, who decided, and a service that is gone and back', async () => {
    const world = await createConsoleWorld();
    const page = await following(world);
    world.agents[0].ask('per_1');
    await world.clock.advance(5200);
    const ann = await world.as('ann');
    const argumentsHash = world.agents[0].hashOf({ user_id: 7 });
    await ann('POST', '/api/approvals/0/per_1', { reply: 'once', argumentsHash });
    await world.clock.advance(200);
    const opens = (page.named('approvals') as { open: unknown[] }[]).map(({ open }) => open.length);
    assert.equal([opens[0], Math.max(...opens), opens.at(-1)], [0, 1, 0]);
    assert.equal(
      (page.named('decided') as { id: string; by: string }[]).map(({ id, by }) => `${id} ${by}`),
      ['per_1 ann'],
    );
    world.services.away.add('http://agent-2');
    await world.clock.advance(5200);
    const last = () => (page.named('services').at(-1) as { state: string; reason?: string }[])[1];
    assert.equal([last()?.state, last()?.reason], ['down', 'ECONNREFUSED']);
    world.services.away.delete('http://agent-2');
    await world.clock.advance(5200);
    assert.is(last()?.state, 'up');
    world.stop();
  });

  check('say of a service that it is not ready, or refuses the key of the console, and not that it is up', async () => {
    const refused = { status: 401, value: { error: { message: 'no' } } };
    const cases = [
      [{ gateway: () => refused }, 'gateway', 'check GATEWAY_ADMIN_KEY'],
      [{ gateway: () => ({ status: 404 }) }, 'gateway', 'check CONSOLE_GATEWAY_URL, and GATEWAY_ADMIN_KEY there'],
      [{ bridge: () => ({ status: 404 }) }, 'bridge', 'it has no such route: check CONSOLE_BRIDGE_URL'],
      [
        { gateway: () => ({ value: { ready: { reasons: ['every backend key is cooling down'] } } }) },
        'gateway',
        'every backend key is cooling down',
      ],
      [
        { bridge: ({ path }: { path: string }) => (path === '/ready' ? { value: {} } : refused) },
        'bridge',
        'check CONSOLE_BRIDGE_KEY',
      ],
      [{ bridge: () => ({ status: 503, value: { reasons: ['no agent'] } }) }, 'bridge', 'no agent'],
    ] as const;
    for (const [needs, part, reason] of cases) {
      const world = await createConsoleWorld(needs);
      const page = await following(world);
      const shown = (page.named('services').at(-1) as { part: string; state: string; reason?: string }[]).find(
        (one) => one.part === part,
      );
      assert.is(shown?.state, 'not-ready');
      assert.match(shown?.reason ?? '', reason);
      const lost = world.lines.filter((line) => line.includes('"service-lost"'));
      assert.is(lost.length, 1);
      assert.match(lost[0] ?? '', reason);
      assert.is(world.readings()?.servicesUp, 3);
      world.stop();
    }
  });

  check('read the gateway only while someone follows, and end with the session', async () => {
    const world = await createConsoleWorld();
    assert.is(gatewayStreams(world).length, 0);
    const page = await following(world);
    assert.is(gatewayStreams(world).length, 1);
    assert.is(world.readings()?.followers, 1);
    await world.send('POST', '/api/logout', { headers: page.headers });
    await world.clock.advance(11_000);
    assert.is(page.isOver(), true);
    assert.is(gatewayStreams(world)[0]?.signal.aborted, true);
    const other = await following(world);
    await other.leave();
    await world.clock.advance(200);
    assert.is(world.readings()?.followers, 0);
    assert.is(gatewayStreams(world)[1]?.signal.aborted, true);
    world.stop();
  });

  check('bring verdicts in at most ten batches a second, and say how many were left out', async () => {
    const world = await createConsoleWorld();
    const page = await following(world);
    const [gateway] = gatewayStreams(world);
    for (let each = 0; each < 50; each++) {
      gateway?.send([0, 1, 2, 3].map((one) => verdict(each * 4 + one)).join(''));
      await world.clock.advance(20);
    }
    await world.clock.advance(200);
    const batches = page.named('verdict') as { at: number }[][];
    assert.equal(
      batches.flat().map(({ at }) => at),
      Array.from({ length: 200 }, (_, at) => at),
    );
    assert.ok(batches.length <= 12, `${batches.length} batches in 1 s`);
    gateway?.send(Array.from({ length: 2000 }, (_, at) => verdict(at)).join(''));
    await world.clock.advance(200);
    const skipped = (page.named('skipped') as { count: number }[]).reduce((sum, { count }) => sum + count, 0);
    assert.is(skipped + (page.named('verdict') as unknown[][]).flat().length, 2200);
    assert.ok(skipped >= 1000);
    world.stop();
  });

  check('stay with a gateway that has no verdict for long, and lose none over a connection that fails', async () => {
    const world = await createConsoleWorld();
    const page = await following(world);
    for (let each = 0; each < 10; each++) {
      gatewayStreams(world)[0]?.send(': heartbeat\n\n');
      await world.clock.advance(10_000);
    }
    assert.is(gatewayStreams(world).length, 1);
    gatewayStreams(world)[0]?.send(verdict(7));
    await world.clock.advance(200);
    gatewayStreams(world)[0]?.end();
    world.services.failures.set('/admin/events', new TypeError('a fault of the client'));
    await world.clock.advance(2000);
    world.services.failures.clear();
    await world.clock.advance(5000);
    assert.is(gatewayStreams(world).at(-1)?.headers['last-event-id'], '7');
    await page.leave();
    world.stop();
  });

  check('pass nothing on that the gateway should not send, and nothing that is too long', async () => {
    const world = await createConsoleWorld();
    const page = await following(world);
    const [gateway] = gatewayStreams(world);
    gateway?.send(`event: other\ndata: {"text":"canary"}\n\nevent: verdict\ndata: canary\n\n`);
    gateway?.send(`event: verdict\ndata: {"long":"${'x'.repeat(20_000)}"}\n\nevent: keys\ndata: {"keys":[]}\n\n`);
    await world.clock.advance(200);
    assert.equal([page.named('verdict'), page.named('keys')], [[], [{ keys: [] }]]);
    assert.not.match(page.text(), 'canary');
    world.stop();
  });

  check('are for so many browsers, and end when the console stops', async () => {
    const world = await createConsoleWorld();
    const { headers } = await world.login('vera');
    const pages = await Promise.all(Array.from({ length: 65 }, () => world.send('GET', '/api/events', { headers })));
    assert.equal([pages.filter(({ status }) => status === 200).length, pages.at(-1)?.status], [64, 503]);
    const readers = pages.slice(0, 64).map(reader);
    await world.clock.advance(200);
    // One account keeps no other one out.
    const ann = await following(world, 'ann');
    assert.equal([readers.filter(({ isOver }) => isOver()).length, ann.isOver()], [1, false]);
    assert.ok(ann.named('approvals').length > 0);
    assert.is((await world.send('GET', '/api/events', { headers })).status, 503);
    world.stop();
    await world.clock.advance(200);
    assert.ok(readers.every(({ isOver }) => isOver()));
    assert.equal(
      world.services.streams.filter(({ signal }) => !signal.aborted),
      [],
    );
  });
});
