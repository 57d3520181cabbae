import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { answer, text } from '../../../src/demo/model/reply.ts';
import { describe, thorough } from '../../check.ts';
import { begunTogether } from '../together.ts';
import { type AgentProcess, basic, PASSWORD, USER } from './process.ts';
import {
  inAgentWorld,
  isNoTitle,
  messagesOf,
  newSession,
  prompt,
  promptTexts,
  type ReceivedAnswer,
  textPrompt,
  until,
} from './world.ts';

/** All of these mostly wait, so they wait together. */
const together = begunTogether();
const STOP_LIMIT_MS = 10_000;

/** A request whose body never comes to its end, which keeps a server that stops waiting for as long as it may. */
const endlessUpload = ({ address }: AgentProcess): Promise<void> =>
  new Promise((settle) => {
    const headers = { authorization: basic(USER, PASSWORD), 'content-type': 'application/json' };
    const call = request(`${address}/session`, { method: 'POST', agent: false, headers });
    call.on('error', () => {});
    call.write('{"title":', () => settle());
  });

const throwing = (code: string): string =>
  `data:text/javascript,${encodeURIComponent(`setTimeout(() => { ${code} }, 700);`)}`;

describe('stopping the agent bundle', (check) => {
  for (const signal of (['SIGTERM', 'SIGINT'] as const).slice(0, thorough(1, 2))) {
    check(
      `by ${signal} ends streams in order, gives prompts their aborted answers, and ends with 0`,
      together(
        inAgentWorld(async ({ start, model }) => {
          model.alwaysReply(answer([...text('so far '), { kind: 'hang' }]), isNoTitle);
          const agent = await start();
          const [{ id }, { id: other }] = [await newSession(agent), await newSession(agent)];
          const streams = [await agent.listen(), await agent.listen('/global/event')];
          const waiting = ['one', 'two'].map((words) =>
            agent.ask<ReceivedAnswer>('POST', `/session/${id}/message`, textPrompt(words)),
          );
          await agent.ask('POST', `/session/${other}/prompt_async`, textPrompt('three'));
          await until('both run', async () => model.requests().filter(isNoTitle).length === 2);
          await until(
            'it has said something',
            async () => promptTexts((await messagesOf(agent, id)).at(1)?.parts ?? []) !== '',
          );
          const { code, signal: ending, tookMs } = await agent.signal(signal);
          assert.equal([code, ending], [0, null]);
          assert.ok(tookMs < STOP_LIMIT_MS, `${Math.round(tookMs)} ms`);
          for (const { status, json } of await Promise.all(waiting)) {
            assert.is(status, 200);
            assert.is(json.info.error?.name, 'MessageAbortedError');
            assert.type(json.info.time.completed, 'number');
          }
          for (const stream of streams) assert.is(await stream.ended, 'ended');
          const [own, all] = streams.map((stream) => stream.text());
          assert.match(
            own ?? '',
            /data: \{"type":"server\.instance\.disposed","properties":\{"directory":"[^"]+"\}\}\n\n$/,
          );
          assert.match(all ?? '', /data: \{"payload":\{"type":"global\.disposed","properties":\{\}\}\}\n\n$/);
          const idle = streams[0]?.seen().filter(({ type }) => type === 'session.idle') ?? [];
          assert.is(idle.length, 2, 'the streams told the end of both runs');
          assert.not.match(agent.running.stderr(), '"event":"bug"');
          const next = await start();
          model.clear();
          model.alwaysReply('Good day.');
          for (const session of [id, other]) {
            const messages = await messagesOf(next, session);
            for (const { info } of messages)
              if (info.role === 'assistant') assert.is(info.error?.name, 'MessageAbortedError');
            assert.is(promptTexts((await prompt(next, session, 'again')).parts), 'Good day.');
          }
          assert.not.match(next.running.stderr(), 'unfinished-answers-ended');
        }),
      ),
    );
  }

  check(
    'takes no time when nothing is under way',
    together(
      inAgentWorld(async ({ start, model }) => {
        model.alwaysReply('Good day.');
        const agent = await start();
        await prompt(agent, (await newSession(agent)).id, 'hello');
        const stream = await agent.listen();
        const { code, tookMs } = await agent.signal('SIGTERM');
        assert.is(code, 0);
        assert.ok(tookMs < 3000, `${Math.round(tookMs)} ms`);
        assert.is(await stream.ended, 'ended');
        assert.is(stream.seen().at(-1)?.type, 'server.instance.disposed');
      }),
    ),
  );

  check(
    'by two signals at once is one stop, and by a later one ends at once with 1',
    together(
      inAgentWorld(async ({ start }) => {
        const once = await start();
        once.running.signal('SIGTERM');
        assert.is((await once.signal('SIGINT')).code, 0);
        const held = await start();
        await endlessUpload(held);
        held.running.signal('SIGTERM');
        await held.running.outputMatching(/"event":"stopping"/);
        await sleep(600);
        const { code, tookMs } = await held.signal('SIGTERM');
        assert.is(code, 1);
        assert.ok(tookMs < 2000, `${Math.round(tookMs)} ms`);
      }),
    ),
  );

  check(
    'by a bug ends with 1, and reports its kind but not its words',
    together(
      inAgentWorld(async ({ begin }) => {
        for (const [bug, kind] of [
          [
            "const bug = new TypeError('canary-words'); bug.requestBodyValues = 'canary-values'; throw bug",
            'TypeError',
          ],
          ["Promise.reject(new RangeError('canary-words'))", 'RangeError'],
          ["throw 'canary-words'", 'string'],
        ] as const) {
          const running = begin({ flags: ['--import', throwing(bug)] });
          const { code } = await running.ended;
          assert.is(code, 1);
          assert.match(running.stderr(), `gatehouse agent: stopped by a bug (${kind})\n`);
          assert.not.match(running.stderr() + running.stdout(), 'canary');
        }
      }),
    ),
  );

  check(
    'does not wait for ever for anyone who never sends the rest',
    together(
      inAgentWorld(async ({ start }) => {
        const agent = await start();
        await endlessUpload(agent);
        const { code, tookMs } = await agent.signal('SIGTERM');
        assert.is(code, 0);
        assert.ok(tookMs < STOP_LIMIT_MS + 2000, `${Math.round(tookMs)} ms`);
      }),
    ),
  );
});
