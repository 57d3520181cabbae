import * as assert from 'uvu/assert';
import { ollama } from '../../src/llm/ollama.ts';
import { openai } from '../../src/llm/openai.ts';
import { describe } from '../check.ts';
import { CALL } from './scripted-client.ts';

const { system: _, ...CALL_WITHOUT_SYSTEM } = CALL;
const DIALECTS = { ollama, openai } as const;

/** An answer of a dialect's server with log-probabilities as they stand. */
const answerWith = (name: keyof typeof DIALECTS, logprobs: unknown): string =>
  JSON.stringify(
    name === 'ollama'
      ? { model: CALL.model, message: { content: 'safe' }, done: true, done_reason: 'stop', logprobs }
      : {
          model: CALL.model,
          choices: [{ message: { content: 'safe' }, finish_reason: 'stop', logprobs: { content: logprobs } }],
        },
  );

for (const [name, dialect] of Object.entries(DIALECTS) as ['ollama' | 'openai', typeof ollama][]) {
  const bodyOf = (changes: object, call: object = CALL) =>
    JSON.parse(dialect.createBody({ ...CALL, ...call, ...changes }));
  const logprobsIn = (logprobs: unknown) => {
    const reply = dialect.parseReply(answerWith(name, logprobs), CALL.model);
    assert.is(reply.kind, 'answered');
    return reply.kind === 'answered' ? reply.logprobs : undefined;
  };

  describe(`log-probabilities over ${name}`, (check) => {
    check('are asked for only where they are wanted', () => {
      assert.not.ok('logprobs' in bodyOf({}));
      const { logprobs, top_logprobs: top } = bodyOf({ topLogprobs: 20 });
      assert.equal([logprobs, top], [true, 20]);
    });
    check('are read with the likeliest tokens of each place, if the server sends them', () => {
      const top = [
        { token: 'safe', logprob: -0.1, bytes: [115] },
        { token: ' unsafe', logprob: -2.3, bytes: null },
      ];
      assert.equal(logprobsIn([{ token: 'safe', logprob: -0.1, bytes: [], top_logprobs: top }]), [
        {
          token: 'safe',
          logprob: -0.1,
          top: [
            { token: 'safe', logprob: -0.1 },
            { token: ' unsafe', logprob: -2.3 },
          ],
        },
      ]);
      assert.equal(logprobsIn([{ token: 'safe', logprob: 0 }]), [{ token: 'safe', logprob: 0, top: [] }]);
      assert.equal(logprobsIn([{ token: 'safe', logprob: 0, top_logprobs: null }]), [
        { token: 'safe', logprob: 0, top: [] },
      ]);
    });
    check('count as not sent where they are in no known form, and the answer is used', () => {
      for (const odd of [
        undefined,
        null,
        [],
        'none',
        7,
        {},
        [null],
        [{ token: 'safe' }],
        [{ token: 7, logprob: -1 }],
        [{ token: 'safe', logprob: '-1' }],
        [{ token: 'safe', logprob: 5 }],
        [{ token: 'safe', logprob: -1, top_logprobs: {} }],
        [{ token: 'safe', logprob: -1, top_logprobs: [{ token: 'unsafe' }] }],
      ])
        assert.is(logprobsIn(odd), undefined, JSON.stringify(odd));
    });
  });

  describe(`a call without a policy over ${name}`, (check) => {
    check('has the text alone, and a second message of the user where one is wanted', () => {
      const bare = { ...bodyOf({ system: undefined }, CALL_WITHOUT_SYSTEM) };
      assert.equal(bare.messages, [{ role: 'user', content: CALL.user }]);
      const { messages } = bodyOf({ system: undefined, afterUser: 'the criterion' }, CALL_WITHOUT_SYSTEM);
      assert.equal(messages, [
        { role: 'user', content: CALL.user },
        { role: 'user', content: 'the criterion' },
      ]);
    });
    check('gives settings to the chat template where the server takes them, else the system message', () => {
      const body = bodyOf({ templateSettings: { guideline: 'no harm' }, think: false });
      const roles = body.messages.map(({ role }: { role: string }) => role);
      if (name === 'ollama') return assert.equal([roles, body.chat_template_kwargs], [['system', 'user'], undefined]);
      assert.equal([roles, body.chat_template_kwargs], [['user'], { guideline: 'no harm', enable_thinking: false }]);
    });
  });
}
