import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { createConsoleWorld } from '../harness/world.ts';

describe('guessing passwords', (check) => {
  const wrong = async (world: Awaited<ReturnType<typeof createConsoleWorld>>, name: string, peer: string) => {
    const { csrf } = (await (await world.send('GET', '/api/me')).json()) as { csrf: string };
    const headers = { 'x-csrf': csrf };
    return world.send('POST', '/api/login', { body: { name, password: 'wrong' }, headers, peer });
  };

  check('is slowed down for a name from everywhere, ever longer up to a minute', async () => {
    const world = await createConsoleWorld();
    for (let each = 0; each < 5; each++) assert.is((await wrong(world, 'ann', `192.0.2.${each}`)).status, 401);
    const waits: number[] = [];
    for (let each = 0; each < 8; each++) {
      const answer = await wrong(world, 'ann', `192.0.2.${100 + each}`);
      assert.is(answer.status, 429);
      const seconds = Number(answer.headers.get('retry-after'));
      waits.push(seconds);
      await world.clock.advance(seconds * 1000);
      assert.is((await wrong(world, 'ann', `192.0.2.${100 + each}`)).status, 401);
    }
    assert.equal(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    // Another name is not held up by it.
    assert.is((await world.login('bob')).answer.status, 204);
    world.stop();
  });

  check('is slowed down for an address with many names, also for the right password', async () => {
    const world = await createConsoleWorld();
    for (let each = 0; each < 20; each++) assert.is((await wrong(world, `name${each}`, '192.0.2.1')).status, 401);
    const asked = world.scrypt.asked.length;
    assert.is((await wrong(world, 'name99', '192.0.2.1')).status, 429);
    assert.is((await wrong(world, 'name99', '192.0.2.2')).status, 401);
    assert.is(world.scrypt.asked.length, asked + 1);
    world.stop();
  });

  check('is slowed down for an address also when its visitor logs in between, as someone else', async () => {
    const world = await createConsoleWorld();
    const logIn = async () => {
      const { csrf } = (await (await world.send('GET', '/api/me')).json()) as { csrf: string };
      const body = { name: 'ann', password: 'ann-password' };
      return world.send('POST', '/api/login', { body, headers: { 'x-csrf': csrf }, peer: '192.0.2.1' });
    };
    assert.is((await wrong(world, 'ann', '192.0.2.1')).status, 401);
    for (let each = 0; each < 19; each++) {
      assert.is((await wrong(world, `name${each}`, '192.0.2.1')).status, 401);
      if (each === 9) assert.is((await logIn()).status, 204);
    }
    // The wrong attempt of Ann's own name is forgotten, those for other names are not.
    assert.is((await wrong(world, 'name98', '192.0.2.1')).status, 401);
    assert.is((await wrong(world, 'name99', '192.0.2.1')).status, 429);
    world.stop();
  });

  check('is slowed down for a whole network of IPv6 addresses, which one machine may have', async () => {
    const world = await createConsoleWorld();
    const statuses: number[] = [];
    for (let each = 0; each < 21; each++)
      statuses.push((await wrong(world, `name${each}`, `2001:db8::${each.toString(16)}:1`)).status);
    assert.equal([statuses.lastIndexOf(401), statuses.at(-1)], [19, 429]);
    assert.is((await wrong(world, 'name99', '2001:db8:0:1::1')).status, 401);
    world.stop();
  });

  check('is not made quicker by trying at the same time', async () => {
    const world = await createConsoleWorld();
    const statuses = await Promise.all(
      Array.from({ length: 12 }, async (_, each) => (await wrong(world, 'ann', `192.0.2.${each}`)).status),
    );
    assert.is(statuses.filter((status) => status === 401).length, 5);
    world.stop();
  });

  check(
    'from elsewhere does not keep users out of browsers in which they have logged in, behind a proxy either',
    async () => {
      const proxy = '192.0.2.1';
      const world = await createConsoleWorld();
      const deviceOf = async (name: string) =>
        (await world.login(name)).answer.headers.getSetCookie()[1]?.split(';')[0] ?? '';
      const [ann, bob] = [await deviceOf('ann'), await deviceOf('bob')];
      const tryAs = async (name: string, password: string, cookie: string) => {
        const { csrf } = (await (await world.send('GET', '/api/me')).json()) as { csrf: string };
        const headers = { 'x-csrf': csrf, cookie };
        return (await world.send('POST', '/api/login', { body: { name, password }, headers, peer: proxy })).status;
      };
      for (let each = 0; each < 20; each++) await wrong(world, each < 5 ? 'ann' : `name${each}`, proxy);
      for (const cookie of ['', bob, `${ann}x`, 'gatehouse-device=', 'gatehouse-device=.'])
        assert.is(await tryAs('ann', 'ann-password', cookie), 429, cookie);
      assert.is(await tryAs('ann', 'ann-password', ann), 204);
      // It opens nothing, and whoever has it guesses no faster.
      assert.is((await world.send('GET', '/api/approvals', { headers: { cookie: ann } })).status, 401);
      for (let each = 0; each < 5; each++) assert.is(await tryAs('ann', 'wrong', ann), 401);
      assert.is(await tryAs('ann', 'ann-password', ann), 429);
      world.stop();
    },
  );

  check('is forgotten after the right password, and after 15 quiet minutes', async () => {
    const world = await createConsoleWorld();
    for (let each = 0; each < 4; each++) await wrong(world, 'ann', `192.0.2.${each}`);
    assert.is((await world.login('ann')).answer.status, 204);
    for (let each = 0; each < 5; each++) assert.is((await wrong(world, 'ann', `192.0.2.${each}`)).status, 401);
    assert.is((await wrong(world, 'ann', '192.0.2.9')).status, 429);
    await world.clock.advance(900_000);
    for (let each = 0; each < 5; each++) assert.is((await wrong(world, 'ann', `192.0.2.${each}`)).status, 401);
    world.stop();
  });
});
