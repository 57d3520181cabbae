import { existsSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { inAgentWorld, newSession, prompt, wordsOf } from './agent-bundle-world.ts';
import { program } from './processes.ts';

const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  deno: ['run', '--allow-all'],
  bun: ['run'],
};

for (const [name, flags] of Object.entries(RUNTIMES)) {
  describe(`the agent bundle on ${name}`, (check) => {
    check.needing(
      existsSync(program(name)) ? undefined : name,
      'starts, answers a prompt and keeps it',
      inAgentWorld(async ({ start, model }) => {
        model.sayAlways('Good day.');
        const agent = await start({ command: program(name), flags });
        const { id } = await newSession(agent);
        const events = await agent.listen();
        const { info, parts } = await prompt(agent, id, 'hello');
        assert.equal([info.finish, wordsOf(parts)], ['stop', 'Good day.']);
        await events.until('the end', ({ type }) => type === 'session.idle');
        events.leave();
        const { code } = await agent.signal('SIGTERM');
        // On Bun the server does not stop in order yet.
        if (name === 'deno') assert.is(code, 0);
        const next = await start();
        const { json } = await next.ask<readonly object[]>('GET', `/session/${id}/message`);
        assert.is(json.length, 2);
      }),
    );
  });
}
