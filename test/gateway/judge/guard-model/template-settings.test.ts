import * as assert from 'uvu/assert';
import type { HttpRequest } from '../../../../src/core/http/client.ts';
import { describe } from '../../../check.ts';
import { GUARD_MODELS, isGuardModelCall } from '../../harness/guard-models.ts';
import { errorOf, resultsOf } from '../../harness/read-answer.ts';
import { gatewayOver, judging, promptTokensOf, received, replying } from '../../harness/world.ts';

const OPENAI = { BACKEND_DIALECT: 'openai', BACKEND_BASE_URL: 'http://backend.test:8080' };
type Count = (sent: HttpRequest) => number;
type Kind = 'shieldgemma' | 'granite-guardian';

/** Tokens of what a server that knows no settings of the template makes a prompt of: the template's words and the messages. */
const countMessages: Count = ({ body = '' }) => 200 + JSON.stringify(JSON.parse(body).messages).length;

/** A gateway whose guard model finds nothing, on a server that counts tokens in its own way. */
const over = (kind: Kind, count: Count, { model = GUARD_MODELS[kind].model, refusing = false } = {}) =>
  gatewayOver(
    (sent) => {
      if (!isGuardModelCall(sent)) return judging()(sent);
      if (refusing && JSON.parse(sent.body ?? '{}').logprobs === true) return received(400, '{"error":"no logprobs"}');
      const { text } = replying(sent, GUARD_MODELS[kind].safe);
      return received(200, JSON.stringify({ ...JSON.parse(text), usage: { prompt_tokens: count(sent) } }));
    },
    {
      variables: {
        ...OPENAI,
        MODERATION_MODELS: JSON.stringify({ guarded: { model, judge: kind, second: 'moderation-fast' } }),
      },
    },
  );
const ASK = { model: 'guarded', input: 'some text' };

for (const kind of ['shieldgemma', 'granite-guardian'] as const)
  describe(`${kind} on a server that leaves out the settings of the chat template`, (check) => {
    check('gives no verdict: each answer is about another question than was asked', async () => {
      const { ask, logged } = over(kind, countMessages);
      const error = await errorOf(await ask(ASK));
      assert.is(`${error.status} ${error.code}`, '502 backend_unusable_reply');
      assert.match(error.message, 'chat_template_kwargs');
      assert.ok(logged.some((line) => line.includes('verdict-unusable') && line.includes('chat_template_kwargs')));
    });
    check('gives none either where it answers only the second call of each question', async () => {
      const { ask } = over(kind, countMessages, { refusing: true });
      assert.is((await errorOf(await ask(ASK))).code, 'backend_unusable_reply');
    });
    check('is told from one that applies them', async () => {
      const { ask } = over(kind, promptTokensOf);
      assert.is((await resultsOf(await ask(ASK)))[0]?.flagged, false);
    });
    check('is not found where it counts no tokens', async () => {
      const { ask } = over(kind, () => 0);
      assert.is((await resultsOf(await ask(ASK)))[0]?.flagged, false);
    });
  });
