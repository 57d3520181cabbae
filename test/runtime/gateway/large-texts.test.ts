import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { worstTexts } from '../../gateway/harness/worst-texts.ts';
import { fetchText, moderate } from '../client.ts';
import { withGateway } from './world.ts';

/** How many large texts were decoded, by place. */
const decodedAt = async (address: string): Promise<Readonly<Record<string, number>>> => {
  const { text } = await fetchText(`${address}/metrics`);
  const counts = text.matchAll(/^gatehouse_large_text_duration_seconds_count\{place="([\w-]+)"\} (\d+)/gm);
  return Object.fromEntries([...counts].map(([, place, count]) => [place, Number(count)]));
};

describe('the Node bundle', (check) => {
  check('decodes large texts in a thread that is in the same file, and short ones without it', () =>
    withGateway({}, async ({ gateway }) => {
      assert.is((await moderate(gateway.address, { input: 'good morning' })).status, 200);
      assert.equal(await decodedAt(gateway.address), {});
      const [text = ''] = worstTexts(20_000);
      const answer = await moderate(gateway.address, { input: text });
      assert.is(answer.status, 200);
      assert.is(answer.headers.get('x-moderation-hidden'), 'decoded');
      assert.equal(await decodedAt(gateway.address), { thread: 1 });
      assert.not.match(gateway.stderr(), 'views-thread-died');
      gateway.signal('SIGTERM');
      assert.equal(await gateway.ended, { code: 0, signal: null });
    }),
  );
});
