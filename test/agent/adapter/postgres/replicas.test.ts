import * as assert from 'uvu/assert';
import type { PermissionDecision, StandingRule } from '../../../../src/agent/protocol/permissions.ts';
import { atEnd, describe } from '../../../check.ts';
import { type Answer, answersIn, ask, asksOf, messagesOf, textOf } from '../../harness/permission-requests.ts';
import { calling, hanging, outcome, prompt, replying, toolNamed } from '../../harness/world.ts';
import { userMessage } from '../../store/samples.ts';
import { type Replica, startReplica } from './replicas.ts';
import { dropSchema, startPostgres } from './world.ts';

const PATIENCE_MS = 20_000;
const database = await startPostgres();

const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  const limit = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > limit) throw new Error('It never came to be');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
type Given = Parameters<typeof startReplica>[2];
/** Two servers on one database. */
const withTwo = async (givens: readonly [Given, Given], body: (a: Replica, b: Replica) => Promise<void>) => {
  const schema = database.freshSchema();
  const [a, b] = await Promise.all(givens.map((given) => startReplica(database, schema, given)));
  if (a === undefined || b === undefined) throw new Error('no servers');
  try {
    await body(a, b);
  } finally {
    await Promise.all([a.leave().catch(() => {}), b.leave().catch(() => {})]);
    await dropSchema(database, schema);
  }
};
/** The types of events that a server tells, as they come. */
const receivedAt = async ({ call }: Replica) => {
  const leaving = new AbortController();
  const response = await call('GET', '/global/event');
  const events: { readonly id: string; readonly type: string; readonly [name: string]: unknown }[] = [];
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const reading = (async () => {
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const frames = (rest + value).split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (data !== undefined) events.push(JSON.parse(data).payload);
      }
    }
  })().catch(() => {});
  return {
    events,
    types: () => events.map(({ type }) => type),
    async stop() {
      leaving.abort();
      await reader.cancel().catch(() => {});
      await reading;
    },
  };
};
const ASKING = {
  rules: [{ permission: '*', pattern: '*', action: 'ask' as const }],
  tools: [toolNamed('pay', async () => outcome('paid'))],
  scripts: [calling({ name: 'pay', input: {} }), replying('done')],
};

describe('two servers on one database', (check) => {
  check('serve the same sessions, and answer prompts to either', () =>
    withTwo([{}, {}], async (a, b) => {
      const id = await a.session();
      assert.is(textOf(await ask(b, id, 'one')), 'hello');
      assert.is(textOf(await ask(a, id, 'two')), 'hello');
      assert.equal(await messagesOf(a, id), await messagesOf(b, id));
      assert.is((await messagesOf(a, id)).length, 4);
    }),
  );

  check('report the events of both, each once and in the order of their ids', () =>
    withTwo([{}, {}], async (a, b) => {
      const collected = await Promise.all([receivedAt(a), receivedAt(b)]);
      const id = await a.session();
      const asked = Array.from({ length: 10 }, (_, index) => ask(index % 2 === 0 ? a : b, id, String(index)));
      await Promise.all(asked);
      const stored = (await a.events()).map((event) => event.id);
      for (const { events, stop } of collected) {
        await until(() => events.some((event) => event.id === stored.at(-1)));
        const ids = events.map((event) => event.id).filter((one) => stored.includes(one));
        assert.equal(ids, stored);
        await stop();
      }
    }),
  );

  check('run one prompt of a session at a time, wherever it came in, and each gets its own answer', () =>
    withTwo(
      [0, 1].map(() => ({
        scripts: [
          async function* (request: { readonly messages: readonly unknown[] }) {
            await new Promise((resolve) => setTimeout(resolve, 30));
            yield* replying(JSON.stringify(request.messages.at(-1)))(request as never, new AbortController().signal);
          },
        ],
      })) as unknown as [Given, Given],
      async (a, b) => {
        const id = await a.session();
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, index) => ask(index % 2 === 0 ? a : b, id, `question ${index}`)),
        );
        for (const [index, answer] of answers.entries()) assert.match(textOf(answer), `question ${index}`);
        const reported = answersIn(await messagesOf(a, id)).map(({ info }) => info.time);
        for (const [index, { created }] of reported.entries()) {
          const before = reported[index - 1]?.completed ?? 0;
          assert.ok(created >= before, `answer ${index} began before the one before was over`);
        }
      },
    ),
  );

  check('end from one what runs at the other, and show what it does', () =>
    withTwo([{ scripts: [hanging] }, {}], async (a, b) => {
      const id = await a.session();
      const answer = ask(a, id);
      await until(async () => JSON.stringify(await b.get('/session/status')) === `{"${id}":{"type":"busy"}}`);
      await until(() => a.asked.length === 1);
      await b.post(`/session/${id}/abort`);
      assert.is((await answer).info.error?.name, 'MessageAbortedError');
      assert.equal(await b.get('/session/status'), {});
      assert.is(textOf(await ask(b, id, 'again')), 'hello');
    }),
  );

  check('give what a killed one owed: once what it had not begun, and as an error what it had', () =>
    withTwo([{}, {}], async (a, b) => {
      const schema = a.schema;
      const dying = await startReplica(database, schema, { scripts: [hanging] });
      const id = await dying.session({ title: 'Mine' });
      for (const text of ['begun', 'waits', 'waits too'])
        assert.is((await dying.call('POST', `/session/${id}/prompt_async`, prompt(text))).status, 204);
      await until(() => dying.asked.length === 1);
      await dying.vanish();
      await until(async () => (await a.store.owed()).length === 0);
      const messages = await messagesOf(b, id);
      const prompts = messages.filter(({ info }) => info.role === 'user').map(({ info, parts }) => ({ info, parts }));
      const answers = prompts.map(({ info, parts }) => {
        const reported = answersIn(messages).filter((answer) => answer.info.parentID === info.id);
        return [textOf({ parts }), reported.map((answer) => answer.info.error?.name ?? textOf(answer))];
      });
      assert.equal(answers, [
        ['begun', ['MessageAbortedError']],
        ['waits', ['hello']],
        ['waits too', ['hello']],
      ]);
      assert.is(a.asked.length + b.asked.length, 2);
      // The lease of the last run is given back after the commit that ends its answer.
      await until(async () => JSON.stringify(await b.get('/session/status')) === '{}');
    }),
  );

  check('give once what no one has in a queue, though both find it', () =>
    withTwo([{}, {}], async (a, b) => {
      const ids = await Promise.all(Array.from({ length: 8 }, () => a.session({ title: 'Mine' })));
      for (const [place, sessionID] of ids.entries()) {
        const model = { providerID: 'demo', modelID: 'main' };
        const user = { ...userMessage(`msg_${place}`, sessionID), model, time: { created: Date.now() } };
        await a.store.commit(
          [
            { kind: 'message', message: user },
            { kind: 'answer', sessionID, promptID: user.id, state: 'owed' },
          ],
          [],
        );
      }
      await until(async () => (await a.store.owed()).length === 0);
      await until(async () => JSON.stringify(await a.get('/session/status')) === '{}');
      assert.is(a.asked.length + b.asked.length, ids.length);
      for (const id of ids) assert.equal(answersIn(await messagesOf(b, id)).map(textOf), ['hello']);
    }),
  );

  check('take at one the reply to a question that the other asks, and only the first of two', () =>
    withTwo([ASKING, {}], async (a, b) => {
      const id = await a.session();
      const answer = ask(a, id);
      await until(async () => (await asksOf(b)).length === 1);
      const [asked] = await asksOf(b);
      const replies = await Promise.all(
        [a, b, a, b].map(({ call }) => call('POST', `/permission/${asked?.id}/reply`, { reply: 'once' })),
      );
      assert.equal(replies.map(({ status }) => status).sort(), [200, 404, 404, 404]);
      assert.is(textOf(await answer), 'done');
      assert.equal(await asksOf(a), []);
    }),
  );

  check('remember at one what was allowed with always at the other, until both are gone', async () => {
    const schema = database.freshSchema();
    const [a, b] = [await startReplica(database, schema, ASKING), await startReplica(database, schema, ASKING)];
    const first = await a.session();
    const answer = ask(a, first);
    await until(async () => (await asksOf(b)).length === 1);
    await b.post(`/permission/${(await asksOf(b))[0]?.id}/reply`, { reply: 'always', by: 'ana' });
    assert.is(textOf(await answer), 'done');
    const standing = async (): Promise<readonly StandingRule[]> =>
      (await a.get('/permission/standing')) as readonly StandingRule[];
    assert.equal(
      (await standing()).map(({ by, sessionID, uses }) => ({ by, sessionID, uses })),
      [{ by: 'ana', sessionID: first, uses: 0 }],
    );
    assert.is(textOf(await ask(b, first)), 'done');
    const [rule] = await standing();
    assert.is(rule?.uses, 1);
    const [kept] = (await a.get('/permission/decisions')) as readonly PermissionDecision[];
    assert.equal([kept?.reply, kept?.by, kept?.through, kept?.tool?.callID], ['always', 'ana', rule?.id, 'call-5-0']);
    await a.leave();
    await b.leave();
    const c = await startReplica(database, schema, ASKING);
    assert.equal(await c.get('/permission/standing'), []);
    const asked = c.post(`/session/${first}/message`, prompt('hello')).catch(() => {});
    await until(async () => (await asksOf(c)).length === 1);
    await c.leave();
    await asked;
    await dropSchema(database, schema);
  });

  check('remove at one a session that the other works on', () =>
    withTwo([{ scripts: [hanging] }, {}], async (a, b) => {
      const id = await a.session();
      const answer = a.call('POST', `/session/${id}/message`, prompt('hello'));
      await until(() => a.asked.length === 1);
      assert.is((await b.call('DELETE', `/session/${id}`)).status, 200);
      assert.is((await a.call('GET', `/session/${id}`)).status, 404);
      await (await answer).text();
      assert.equal(await a.get('/session/status'), {});
    }),
  );

  check('end what a server that is gone has left, and go on with its sessions', () =>
    withTwo([{ scripts: [hanging] }, {}], async (a, b) => {
      const collected = await receivedAt(b);
      const id = await a.session();
      void ask(a, id).catch(() => {});
      await until(() => a.asked.length === 1);
      await until(async () => (await messagesOf(b, id)).length === 2);
      const startedAt = performance.now();
      await a.vanish();
      const left = async (): Promise<Answer | undefined> => answersIn(await messagesOf(b, id))[0];
      await until(async () => (await left())?.info.error?.name === 'MessageAbortedError');
      assert.ok(performance.now() - startedAt < 5000);
      assert.equal(await b.get('/session/status'), {});
      await until(() => collected.types().includes('session.idle'));
      assert.is(textOf(await ask(b, id, 'and now?')), 'hello');
      await collected.stop();
    }),
  );

  check('take back what a server that is gone has asked a person, as clients everywhere hear', () =>
    withTwo([ASKING, {}], async (a, b) => {
      const collected = await receivedAt(b);
      const id = await a.session();
      void ask(a, id).catch(() => {});
      await until(async () => (await asksOf(b)).length === 1);
      const [asked] = await asksOf(b);
      await a.vanish();
      await until(() => collected.types().includes('session.idle'));
      const replies = collected.events.filter(({ type }) => type === 'permission.replied');
      assert.equal(
        replies.map(({ properties }) => properties),
        [{ sessionID: id, requestID: asked?.id, reply: 'reject' }],
      );
      await collected.stop();
    }),
  );

  check('wait for no server that is gone when they are prompted at once', () =>
    withTwo([{ scripts: [hanging] }, {}], async (a, b) => {
      const id = await a.session();
      void ask(a, id).catch(() => {});
      await until(() => a.asked.length === 1);
      await a.vanish();
      assert.is(textOf(await ask(b, id, 'and now?')), 'hello');
      const [first, second] = answersIn(await messagesOf(b, id));
      assert.is(first?.info.error?.name, 'MessageAbortedError');
      assert.is(second!.info.error, undefined);
    }),
  );
});

atEnd(database.stop);
