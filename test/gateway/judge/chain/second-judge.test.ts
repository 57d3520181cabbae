import * as assert from 'uvu/assert';
import type { HttpRequest } from '../../../../src/core/http/client.ts';
import { describe } from '../../../check.ts';
import { FAULTS } from '../../harness/faulty-answers.ts';
import { askGuard, isGuardCall } from '../../harness/guard-face.ts';
import { errorOf, resultsOf } from '../../harness/read-answer.ts';
import { auditBody } from '../../harness/relay-audit.ts';
import { FINAL_REPLIES, UNUSABLE_CONTENTS, UNUSABLE_REPLIES } from '../../harness/unusable-answers.ts';
import { type Answer, nonceOf, replying } from '../../harness/world.ts';
import { BODY, cascade, says, scoresOf } from './cascade-world.ts';

/** What a second judge may do instead of giving a verdict. */
const SECOND_FAULTS: Readonly<Record<string, Answer>> = {
  ...Object.fromEntries(Object.entries(FAULTS).map(([name, { answer }]) => [name, answer])),
  ...UNUSABLE_REPLIES.ollama,
  ...FINAL_REPLIES,
  ...Object.fromEntries(
    Object.entries(UNUSABLE_CONTENTS).map(([name, contentFor]) => [
      name,
      (sent: HttpRequest) => {
        const content = contentFor(nonceOf(sent));
        const guarded = content?.replace('"word":', '"JB":0,"PD":0,"PO":0,"CP":0,"word":');
        return replying(sent, (isGuardCall(sent) ? guarded : content) ?? null);
      },
    ]),
  ),
};

describe('a second judge that fails', (check) => {
  for (const [name, large] of Object.entries(SECOND_FAULTS)) {
    check(`leaves no verdict where it was needed, and changes none where it was not: ${name}`, async () => {
      const doubtful = cascade({ small: says({ HA: 40 }), large });
      const error = await errorOf(await doubtful.ask(BODY));
      assert.ok(error.status >= 500, `${error.status} ${error.code}`);
      const guard = cascade({ small: says({ HA: 40 }), large });
      assert.ok((await errorOf(await askGuard(guard, auditBody('some text', 'fast')))).status >= 500);
      const sure = cascade({ small: says({ HA: 90 }), large });
      assert.is((await scoresOf(await sure.ask(BODY)))?.hate, 0.9);
    });
  }
  check('is asked anew: nothing of the first verdict was kept', async () => {
    let isBroken = true;
    const world = cascade({
      small: says({ HA: 40 }),
      large: (sent) => (isBroken ? replying(sent, '{}') : says({ HA: 90 })(sent)),
    });
    assert.is((await world.ask(BODY)).status, 502);
    isBroken = false;
    const answer = await world.ask(BODY);
    assert.equal([answer.headers.get('x-moderation-cache'), (await scoresOf(answer))?.hate], ['miss', 0.9]);
  });
  check('is answered as flagged where the operator has chosen that, and never as the first judge said', async () => {
    const world = cascade(
      { small: says({ HA: 40 }), large: (sent) => replying(sent, '{}') },
      { variables: { NO_VERDICT: 'flag' } },
    );
    const answer = await world.ask(BODY);
    assert.is(answer.headers.get('x-moderation-no-verdict'), 'backend_unusable_reply');
    assert.is((await resultsOf(answer))[0]?.flagged, true);
  });
});
