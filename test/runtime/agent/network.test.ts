import * as assert from 'uvu/assert';
import { answer, silence, text } from '../../../src/demo/model/reply.ts';
import { withProxy } from '../../adapter/node/local-proxy.ts';
import { describe } from '../../check.ts';
import { closedPort } from '../../core/http/local-server.ts';
import { CANARIES, inAgentWorld, newSession, prompt, promptTexts, until } from './world.ts';

describe('the agent bundle behind a proxy', (check) => {
  for (const name of ['HTTP_PROXY', 'http_proxy']) {
    check(
      `asks models and tool servers through ${name}, and shows the proxy no key`,
      inAgentWorld(({ start, model, modelAddress }) =>
        withProxy(async ({ port, detours }) => {
          const far = `127.0.0.1:${await closedPort()}`;
          const agent = await start({
            variables: { [name]: `http://canary-user:canary-password@127.0.0.1:${port}` },
            config: { mcp: { far: { type: 'remote', url: `http://${far}/mcp` } } },
          });
          model.addReply(answer(text('from afar')));
          const { id } = await newSession(agent);
          assert.is(promptTexts((await prompt(agent, id, 'hello')).parts), 'from afar');
          assert.is(model.requests()[0]?.headers.authorization, `Bearer ${CANARIES.modelKey}`);
          await until('the tool server was looked for', () => detours.some(({ target }) => target === far));
          assert.ok(detours.some(({ target }) => target === new URL(modelAddress).host));
          for (const { bearer, credentials } of detours) {
            assert.is(bearer, undefined);
            assert.match(credentials ?? '', /^Basic /);
          }
          assert.not.match(agent.running.stderr(), 'canary-password');
        }),
      ),
    );
  }

  check.thorough(
    'asks what NO_PROXY names itself',
    inAgentWorld(({ start, model }) =>
      withProxy(async ({ url, detours }) => {
        const agent = await start({ variables: { HTTP_PROXY: url, NO_PROXY: '127.0.0.1' } });
        model.addReply(answer(text('near')));
        const { id } = await newSession(agent);
        assert.is(promptTexts((await prompt(agent, id, 'hello')).parts), 'near');
        assert.equal(detours, []);
      }),
    ),
  );

  check(
    'does not start with a proxy that is no address, and shows nothing of it',
    inAgentWorld(async ({ begin }) => {
      const running = begin({ variables: { HTTPS_PROXY: 'canary-scheme://canary-password@proxy', PORT: 'x' } });
      assert.is((await running.ended).code, 1);
      const stderr = running.stderr();
      assert.match(stderr, 'HTTPS_PROXY: expected an address such as http://proxy.example:3128');
      assert.match(stderr, 'PORT: expected');
      assert.not.match(stderr, 'canary-password');
    }),
  );
});

describe('the agent bundle', (check) => {
  check(
    'waits for a provider as long as its configuration says',
    inAgentWorld(async ({ start, model, modelAddress }) => {
      const options = { baseURL: `${modelAddress}/v1`, headerTimeout: 150, chunkTimeout: false };
      const agent = await start({ config: { provider: { demo: { options, models: { main: {}, small: {} } } } } });
      model.addReply(silence);
      model.addReply(answer(text('at last')));
      const { id } = await newSession(agent);
      const answered = prompt(agent, id, 'hello');
      await until('it is tried again', async () => {
        const { json } = await agent.ask<Readonly<Record<string, { readonly message?: string }>>>(
          'GET',
          '/session/status',
        );
        return json[id]?.message === 'The provider "demo" was silent for 150 ms';
      });
      assert.is(promptTexts((await answered).parts), 'at last');
    }),
  );

  check.thorough(
    'reports every setting without effect at its start',
    inAgentWorld(async ({ start }) => {
      const agent = await start({
        config: {
          share: 'canary',
          permission: { bash: 'deny' },
          mcp: { a: { type: 'remote', url: 'http://a.invalid/', enabled: false, oauth: {} } },
        },
      });
      const reported = agent.logged().filter(({ event }) => event === 'setting-without-effect');
      assert.equal(
        reported.map(({ level, reason }) => [level, String(reason).split(': ').slice(0, 3).join(': ')]).toSorted(),
        [
          ['warn', 'AGENT_CONFIG_CONTENT: mcp.a.oauth: read for compatibility, without effect'],
          ['warn', 'AGENT_CONFIG_CONTENT: permission.bash: without effect'],
          ['warn', 'AGENT_CONFIG_CONTENT: share: read for compatibility, without effect'],
        ],
      );
      assert.not.match(agent.running.stderr(), 'canary');
    }),
  );
});
