import OpenAI, { BadRequestError, NotFoundError } from 'openai';
import * as assert from 'uvu/assert';
import { answer, text } from '../../../src/demo/model/reply.ts';
import { describe, rejection } from '../../check.ts';
import { isNoTitle } from '../agent/world.ts';
import { asked, assertWholeGraphemes, newText, scriptTool, TRICKY, TRICKY_PIECES } from './clients.ts';
import { BRIDGE_KEY, type BridgeProcess, sharedBridgeWorld } from './world.ts';

const MODEL = 'demo/main';
const beside = sharedBridgeWorld();

const clientOf = ({ baseURL }: BridgeProcess): OpenAI => new OpenAI({ baseURL, apiKey: BRIDGE_KEY });

describe("OpenAI's own client, completions", (check) => {
  check(
    'receives the answer of the agent, which has used its tool',
    beside(async (world) => {
      scriptTool(world);
      const words = newText();
      const { choices, usage, object } = await clientOf(world.bridge).completions.create({
        model: MODEL,
        prompt: words,
        max_tokens: 16,
      });
      assert.equal(choices, [{ index: 0, text: 'I look.\n\nIt is five.', logprobs: null, finish_reason: 'stop' }]);
      assert.equal([object, asked(world).length], ['text_completion', 2]);
      assert.is(asked(world)[0]?.turns[0]?.text, words);
      assert.ok((usage?.total_tokens ?? 0) > 0);
    }),
  );

  check(
    'receives a stream of emoji, flags and other scripts as it was said',
    beside(async (world) => {
      world.model.addReply(answer(text(...TRICKY_PIECES)), isNoTitle);
      const pieces: string[] = [];
      let finish: string | undefined;
      let total: number | undefined;
      for await (const { choices, usage } of await clientOf(world.bridge).completions.create({
        model: MODEL,
        prompt: [newText()],
        stream: true,
        stream_options: { include_usage: true },
      })) {
        pieces.push(choices[0]?.text ?? '');
        finish ??= choices[0]?.finish_reason;
        total = usage?.total_tokens;
      }
      assertWholeGraphemes(pieces, TRICKY);
      assert.ok(pieces.length > 3 && (total ?? 0) > 0);
      assert.is(finish, 'stop');
    }),
  );

  check(
    'is told what cannot be asked for',
    beside(async (world) => {
      const { completions } = clientOf(world.bridge);
      for (const [param, value] of Object.entries({ echo: true, n: 2, suffix: 'end', prompt: [1, 2] })) {
        const error = await rejection(completions.create({ model: MODEL, prompt: 'Hello', [param]: value }));
        assert.instance(error, BadRequestError);
        assert.is((error as BadRequestError).param, param);
      }
      assert.is(asked(world).length, 0);
    }),
  );
});

describe("OpenAI's own client, with a file", (check) => {
  check(
    'is told once to send the data in the message, however large the file is',
    beside(async ({ bridge }) => {
      const openai = clientOf(bridge);
      const file = new File([new Uint8Array(12_000_000)], 'a.pdf');
      for (const call of [
        () => openai.files.create({ file, purpose: 'user_data' }),
        () => openai.files.retrieve('file-1'),
        () =>
          openai.uploads.create({ bytes: 5, filename: 'a.pdf', mime_type: 'application/pdf', purpose: 'user_data' }),
      ]) {
        const error = await rejection(call());
        assert.instance(error, NotFoundError, String(error));
        assert.match(String(error), /send the data in the message/);
      }
    }),
  );
});
