import * as assert from 'uvu/assert';
import { PLATFORM_THRESHOLDS } from '../../../src/demo/relay/moderation/client.ts';
import { SECRETS } from '../../../src/demo/relay/records/secrets.ts';
import { startToys } from '../../../src/main/demo/backends.ts';
import { describe } from '../../check.ts';
import { withHttpServer } from '../../core/http/local-server.ts';

/** A gateway that scores a text 0.6 for violence if it speaks of killing: below the platform's own threshold. */
const scoresOf = (body: string) => ({
  ...Object.fromEntries(Object.keys(PLATFORM_THRESHOLDS).map((name) => [name, 0])),
  violence: body.includes('kill') ? 0.6 : 0.1,
});

describe("the demo's relay", (check) => {
  check('has its chats judged by the gateway once there is one, and bans no one', async () => {
    const keys: unknown[] = [];
    const toys = await startToys(0, 'gateway-key');
    const chat = async (content: string): Promise<number> => {
      const response = await fetch(`${toys.relay}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${SECRETS.userKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ messages: [{ role: 'user', content }] }),
      });
      await response.text();
      return response.status;
    };
    try {
      assert.is(await chat('I will kill you'), 200);
      await withHttpServer(
        async (request, response) => {
          keys.push(request.headers.authorization);
          let body = '';
          for await (const chunk of request) body += chunk;
          const isAudit = request.url === '/v1/chat/completions';
          const safe = { choices: [{ message: { content: 'Safety: Safe\nCategories: None' } }] };
          const scored = { results: [{ flagged: false, category_scores: scoresOf(body) }] };
          response.end(JSON.stringify(isAudit ? safe : scored));
        },
        async ({ url }) => {
          toys.moderateRelay(url);
          for (let count = 0; count < 12; count += 1) assert.is(await chat('I will kill you'), 403);
          assert.is(await chat('Good morning'), 200);
        },
      );
      // Both engines ask about each.
      assert.equal(keys, Array(26).fill('Bearer gateway-key'));
    } finally {
      await toys.stop();
    }
  });
});
