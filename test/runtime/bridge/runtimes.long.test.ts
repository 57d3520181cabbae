import { existsSync } from 'node:fs';
import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { answer, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { isNoTitle, until } from '../agent/world.ts';
import { program } from '../processes.ts';
import { begunTogether } from '../together.ts';
import { asked, assertWholeGraphemes, TRICKY, TRICKY_PIECES } from './clients.ts';
import { askChat, chunksIn, matchesIn, strictly } from './raw.ts';
import { BRIDGE_KEY, inBridgeWorld } from './world.ts';

const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  deno: ['run', '--allow-all'],
  bun: ['run'],
};

const together = begunTogether();

for (const [name, flags] of Object.entries(RUNTIMES)) {
  describe(`the bridge bundle on ${name}`, (check) => {
    check.needing(
      existsSync(program(name)) ? undefined : name,
      'reports the models, answers whole and streamed, ends what no one listens to, and stops in order',
      together(
        inBridgeWorld({ command: program(name), flags }, async (world) => {
          const { bridge, model } = world;
          const openai = new OpenAI({ baseURL: bridge.baseURL, apiKey: BRIDGE_KEY });
          assert.is((await openai.models.retrieve('demo/small')).id, 'demo/small');
          model.addReply(answer(text('Good ', 'day.')), isNoTitle);
          const messages = [{ role: 'user' as const, content: 'hello' }];
          const { choices } = await openai.chat.completions.create({ model: 'demo/main', messages });
          assert.is(choices[0]?.message.content, 'Good day.');
          model.addReply(answer(text(...TRICKY_PIECES)), isNoTitle);
          const stream = openai.chat.completions.stream({
            model: 'demo/main',
            messages: [...messages, { role: 'assistant', content: 'Good day.' }, { role: 'user', content: 'more' }],
          });
          const pieces: string[] = [];
          stream.on('content', (delta) => pieces.push(delta));
          await stream.done();
          assertWholeGraphemes(pieces, TRICKY);
          assert.ok(pieces.length > 1);
          assert.is(asked(world).at(-1)?.turns.length, 3);

          model.clear();
          model.addReply(answer([...text('so far '), { kind: 'hang' }]), isNoTitle);
          const left = await askChat(bridge);
          await until('it runs', () => /so f/.test(left.bytes().toString()));
          left.leave();
          await until('the model sees that nobody listens', () => asked(world)[0]?.isAborted() === true);

          model.addReply(answer([...text('so far '), { kind: 'wait', ms: 500 }, ...text('so good.')]), isNoTitle);
          const last = await askChat(bridge);
          await until('it runs', () => /so f/.test(last.bytes().toString()));
          bridge.running.signal('SIGTERM');
          const { reported } = strictly(await last.ended);
          assert.equal([matchesIn(chunksIn(reported)), reported.at(-1)?.data], ['so far so good.', '[DONE]']);
          assert.is((await bridge.running.ended).code, 0, bridge.running.stderr());
        }),
      ),
    );
  });
}
