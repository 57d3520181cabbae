import { existsSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { answer, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { program } from '../processes.ts';
import {
  inAgentWorld,
  isNoTitle,
  newSession,
  prompt,
  promptTexts,
  type ReceivedAnswer,
  textPrompt,
  until,
} from './world.ts';

const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  deno: ['run', '--allow-all'],
  bun: ['run'],
};
/** Nothing runs. */
const QUICK_MS = 3000;
/** What runs has five seconds to come to its end. */
const DRAINED_MS = 9000;

for (const [name, flags] of Object.entries(RUNTIMES)) {
  describe(`the agent bundle on ${name}`, (check) => {
    check.needing(
      existsSync(program(name)) ? undefined : name,
      'starts, answers a prompt and keeps it',
      inAgentWorld(async ({ start, model }) => {
        model.alwaysReply('Good day.');
        const agent = await start({ command: program(name), flags });
        const { id } = await newSession(agent);
        const events = await agent.listen();
        const { info, parts } = await prompt(agent, id, 'hello');
        assert.equal([info.finish, promptTexts(parts)], ['stop', 'Good day.']);
        await events.until('the end', ({ type }) => type === 'session.idle');
        const { code, tookMs } = await agent.signal('SIGTERM');
        assert.is(code, 0, agent.running.stderr());
        assert.ok(tookMs < QUICK_MS, `${Math.round(tookMs)} ms`);
        assert.is(await events.ended, 'ended');
        assert.is(events.seen().at(-1)?.type, 'server.instance.disposed');
        assert.match(agent.running.stderr(), '"event":"stopped"');
        const next = await start();
        const { json } = await next.ask<readonly object[]>('GET', `/session/${id}/message`);
        assert.is(json.length, 2);
      }),
    );

    check.needing(
      existsSync(program(name)) ? undefined : name,
      'gives anyone who waits an aborted answer when it is asked to stop',
      inAgentWorld(async ({ start, model }) => {
        model.alwaysReply(answer([...text('so far '), { kind: 'hang' }]), isNoTitle);
        const agent = await start({ command: program(name), flags });
        const { id } = await newSession(agent);
        const events = await agent.listen('/global/event');
        const waiting = agent.ask<ReceivedAnswer>('POST', `/session/${id}/message`, textPrompt('hello'));
        await until('it runs', () => model.requests().some(isNoTitle));
        const { code, tookMs } = await agent.signal('SIGTERM');
        assert.is(code, 0, agent.running.stderr());
        assert.ok(tookMs < DRAINED_MS, `${Math.round(tookMs)} ms`);
        assert.is((await waiting).json.info.error?.name, 'MessageAbortedError');
        assert.is(await events.ended, 'ended');
        assert.match(events.text(), '"payload":{"type":"global.disposed","properties":{}}}\n\n');
      }),
    );
  });
}
