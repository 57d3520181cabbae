import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { type Answer, GATEWAY_KEY, gatewayOver, judging, shownTextOf } from '../gateway/harness/world.ts';
import { read } from './pages.ts';

const PAGE = read('docs/integrations.md');
/** A curl of the page: its path, the key's header, its body, and the answer that the page expects. */
const TRIED =
  /```sh\ncurl -s http:\/\/gatehouse:8000(\S+) -H '([^:']+): ([^']*)<gateway key>' .*\\\n {2}-d '([^']+)'\n```[\s\S]*?```json\n(.*)\n```/g;
const tried = [...PAGE.matchAll(TRIED)];
const threats: Answer = (sent) => judging(shownTextOf(sent).includes('kill') ? { HRT: 95, VI: 80 } : {})(sent);

describe('the commands that try the gateway before a product is connected', (check) => {
  check('are one each for LiteLLM and Portkey', () =>
    assert.equal(
      tried.map(([, path]) => path),
      ['/beta/litellm_basic_guardrail_api', '/integrations/portkey'],
    ),
  );

  for (const [, path = '', header = '', scheme = '', body = '', answer = ''] of tried)
    check(`are answered as the page says: ${path}`, async () => {
      const { app } = gatewayOver(threats);
      const ask = async (text: string, key: string) => {
        const headers = { 'content-type': 'application/json', [header]: scheme + key };
        const response = await app(new Request(`http://gateway.test${path}`, { method: 'POST', headers, body: text }));
        return { status: response.status, text: await response.text() };
      };
      assert.equal(await ask(body, GATEWAY_KEY), { status: 200, text: answer });
      const clean = await ask(body.replace('kill', 'thank'), GATEWAY_KEY);
      assert.is(clean.status, 200);
      assert.ok(PAGE.includes(`\`${clean.text}\` passes`), clean.text);
      const refused = await ask(body, 'another-key');
      if (refused.status === 200) assert.is(refused.text, '{"verdict":false,"data":{"error":"unauthorized"}}');
      else assert.is(refused.status, 401);
    });
});
