import * as assert from 'uvu/assert';
import type { HttpRequest } from '../../src/core/http/client.ts';
import { describe, sampled } from '../check.ts';
import { BAD_INPUTS } from './harness/bad-inputs.ts';
import { FAULTS } from './harness/faulty-answers.ts';
import { flaggedOf, unjudgedOutcomeOf } from './harness/flagged.ts';
import { MODERATION_MODELS, REFUSED_IMAGES } from './harness/image-inputs.ts';
import { resultsOf } from './harness/read-answer.ts';
import { FINAL_REPLIES, UNUSABLE_CONTENTS, UNUSABLE_REPLIES } from './harness/unusable-answers.ts';
import { type Answer, gatewayOver, judging, nonceOf, received, replying, type WorldSettings } from './harness/world.ts';

const MODES = ['error', 'text', 'flag'].flatMap((UNJUDGED_INPUT) =>
  ['error', 'flag'].map((NO_VERDICT) => ({ UNJUDGED_INPUT, NO_VERDICT })),
);
type Mode = (typeof MODES)[number];

const UNUSABLE: Readonly<Record<string, Answer>> = {
  ...UNUSABLE_REPLIES.ollama,
  ...FINAL_REPLIES,
  ...Object.fromEntries(
    Object.entries(UNUSABLE_CONTENTS).map(([name, output]) => [
      name,
      (sent: HttpRequest) => replying(sent, output(nonceOf(sent))),
    ]),
  ),
};
const BACKENDS: Readonly<Record<string, Answer>> = {
  ...Object.fromEntries(Object.entries(FAULTS).map(([name, { answer }]) => [name, answer])),
  ...UNUSABLE,
};

const plainErrors = new Map<string, string>();
/** What a failure is in the mode of errors. */
const plainErrorOf = async (name: string, answer: Answer): Promise<string> => {
  const error =
    plainErrors.get(name) ?? (await unjudgedOutcomeOf(await gatewayOver(answer).ask({ input: 'some text' })));
  plainErrors.set(name, error);
  return error;
};

const inMode = (answer: Answer, mode: Mode, { variables, ...more }: WorldSettings = {}) =>
  gatewayOver(answer, { ...more, variables: { ...mode, ...variables } });

for (const mode of MODES) {
  const isFlagging = mode.NO_VERDICT === 'flag';
  /** The same as in the mode of errors, or flagged under the same code. */
  const expected = (error: string): string => (isFlagging ? `flagged ${error.split(' ')[1]}` : error);

  describe(`without a verdict, UNJUDGED_INPUT=${mode.UNJUDGED_INPUT} and NO_VERDICT=${mode.NO_VERDICT}`, (check) => {
    check('every failure of the backend stays an error, or is flagged with its code', async () => {
      for (const [name, answer] of sampled(
        Object.entries(BACKENDS),
        isFlagging && mode.UNJUDGED_INPUT === 'error' ? 1 : 8,
      )) {
        const error = await plainErrorOf(name, answer);
        assert.match(error, /^50[23] /, name);
        const outcome = await unjudgedOutcomeOf(await inMode(answer, mode).ask({ input: 'some text' }));
        assert.is(outcome, expected(error), name);
      }
    });
    check('one missing verdict of several is as many results as inputs, or one error', async () => {
      const answer: Answer = (sent) => (sent.body?.includes('third') ? received(500, '') : judging()(sent));
      const response = await inMode(answer, mode).ask({ input: ['first', 'second', 'third'] });
      if (!isFlagging) return assert.is(await unjudgedOutcomeOf(response), '502 backend_error');
      assert.equal(await flaggedOf(response), { reason: 'backend_error', results: 3 });
    });
    check('what no program sends that follows the API is an error in every mode', async () => {
      const malformed = BAD_INPUTS.filter(
        ([, , code, param]) => /json|missing/.test(code) || (code === 'invalid_type' && !param?.startsWith('input')),
      );
      assert.ok(malformed.length > 5);
      for (const [name, body, code] of malformed)
        assert.is(await unjudgedOutcomeOf(await inMode(judging(), mode).ask(body)), `400 ${code}`, name);
      const { ask } = inMode(judging(), mode);
      assert.is(await unjudgedOutcomeOf(await ask({ model: 'no-such-model', input: 'a' })), '404 model_not_found');
      assert.is(
        await unjudgedOutcomeOf(await ask({ input: 'a' }, { authorization: 'Bearer no' })),
        '401 invalid_api_key',
      );
      const other = { 'content-type': 'text/plain' };
      assert.is(await unjudgedOutcomeOf(await ask({ input: 'a' }, other)), '415 unsupported_media_type');
    });
    check('an input in a form of its own stays an error, or is flagged', async () => {
      const isFlagged = isFlagging || mode.UNJUDGED_INPUT === 'flag';
      const odd = BAD_INPUTS.filter(([, , code, param]) => code === 'invalid_type' && param?.startsWith('input'));
      assert.ok(odd.length > 9);
      for (const [name, body, code] of odd)
        assert.is(
          await unjudgedOutcomeOf(await inMode(judging(), mode).ask(body)),
          isFlagged ? `flagged ${code}` : `400 ${code}`,
          name,
        );
    });
    check('what the author of a text can bring about stays an error, or is flagged with its code', async () => {
      const rest = BAD_INPUTS.filter(([, , code]) => !/json|type|missing/.test(code));
      assert.ok(rest.length > 8);
      for (const [name, body, code] of rest)
        assert.is(await unjudgedOutcomeOf(await inMode(judging(), mode).ask(body)), expected(`400 ${code}`), name);
    });
    check('what is too much, too long or too late stays an error, or is flagged with its code', async () => {
      const small = inMode(judging(), mode, { variables: { MAX_BODY_BYTES: '1024' } });
      const large = await small.ask({ input: 'a'.repeat(2000) }, { 'content-length': '2012' });
      const isLargeFlagged = isFlagging || mode.UNJUDGED_INPUT === 'flag';
      assert.is(await unjudgedOutcomeOf(large), isLargeFlagged ? 'flagged body_too_large' : '400 body_too_large');

      const limited = inMode(judging(), mode, { variables: { RATE_LIMIT_RPM: '1' } });
      await limited.ask({ input: 'a' });
      assert.is(await unjudgedOutcomeOf(await limited.ask({ input: 'b' })), expected('429 rate_limit_exceeded'));

      const full = inMode(judging(), mode, { needs: { memoryBytes: 10 } });
      const large700 = (input: string) => `{"input":"${input}"${' '.repeat(700_000)}}`;
      const both = [full.ask(large700('a')), full.ask(large700('b'))];
      const outcomes = await Promise.all(both.map(async (one) => (await one).clone().status));
      assert.equal(outcomes.toSorted(), isFlagging ? [200, 200] : [200, 503]);

      const hanging = inMode(() => new Promise(() => {}), mode);
      const late = hanging.ask({ input: 'a' });
      await hanging.clock.advance(25_000);
      assert.is(await unjudgedOutcomeOf(await late), expected('504 backend_timeout'));

      const slow = inMode(judging(), mode);
      const body = new ReadableStream<Uint8Array>();
      const headers = { authorization: 'Bearer gateway-key-1' };
      const init: RequestInit & { duplex: 'half' } = { method: 'POST', headers, body, duplex: 'half' };
      const answer = slow.app(new Request('http://g.test/v1/moderations', init));
      await slow.clock.advance(25_000);
      assert.is(await unjudgedOutcomeOf(await answer), expected('408 body_timeout'));
    });
    check('a bug stays 500, or is flagged, and its place is in the log', async () => {
      const digest = (): string => {
        throw new TypeError('canary');
      };
      const { ask, logged } = inMode(judging(), mode, {
        needs: { digest: (input) => (input === 'gateway-key-1' ? input : digest()) },
      });
      assert.is(await unjudgedOutcomeOf(await ask({ input: 'a' })), expected('500 internal_error'));
      const line = logged.find((one) => one.includes('request-answered')) ?? '';
      assert.match(line, /"level":"error".*"fault":"bug","reason":"TypeError at /);
    });

    const isUnjudgedFlagged = isFlagging || mode.UNJUDGED_INPUT === 'flag';
    for (const [name, model, input, code] of REFUSED_IMAGES) {
      const isSomethingLeft = (input as { type: string }[]).some(({ type }) => type === 'text') || name.includes('two');
      const isMalformed = code === 'invalid_type';
      const isJudged = mode.UNJUDGED_INPUT === 'text' && isSomethingLeft && !isMalformed;
      const fate = isJudged ? 'leaves the rest judged' : isUnjudgedFlagged ? 'is flagged' : 'is 400';
      check(`an image ${name} ${fate}`, async () => {
        const { ask } = inMode(judging({ VI: 60 }), mode, { variables: { MODERATION_MODELS } });
        const response = await ask({ model, input });
        if (!isJudged) {
          const flagged = `flagged ${code}`;
          return assert.is(await unjudgedOutcomeOf(response), isUnjudgedFlagged ? flagged : `400 ${code}`);
        }
        assert.equal(
          [response.headers.get('x-moderation-unjudged'), response.headers.get('x-moderation-no-verdict')],
          ['image', null],
        );
        const [result] = await resultsOf(response);
        const judged = name.includes('two') ? ['image'] : ['text'];
        assert.equal(result?.category_applied_input_types.violence, judged);
        assert.is(result?.scores.violence, 0.6);
      });
    }
  });
}
