import * as assert from 'uvu/assert';
import { createForAgent } from '../../../src/bridge/answer/for-agent.ts';
import { isBridgeFault } from '../../../src/bridge/errors.ts';
import { parseChatRequest } from '../../../src/bridge/openai/chat/request.ts';
import { describe, rejection } from '../../check.ts';

const toolNamed = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } });
const requestWith = (...[names, choice]: readonly [names: readonly string[], choice: unknown]) =>
  parseChatRequest(
    { messages: [{ role: 'user', content: 'hi' }], tools: names.map(toolNamed), tool_choice: choice },
    new Headers(),
  );
const forAgent = (takesClientTools: boolean) => createForAgent({ takesClientTools: async () => takesClientTools });

describe('tools of a client in front of an agent server that takes none', (check) => {
  check('are left out, and the answer says so', async () => {
    const { request, areToolsIgnored } = await forAgent(false)(requestWith(['city', 'clock'], 'auto'));
    assert.equal([request.clientTools, request.format, areToolsIgnored], [undefined, undefined, true]);
  });

  check('are the form of the answer where one has to be called', async () => {
    for (const choice of [{ type: 'function', function: { name: 'city' } }, 'required']) {
      const names = choice === 'required' ? ['city'] : ['city', 'clock'];
      const { request, areToolsIgnored } = await forAgent(false)(requestWith(names, choice));
      const { kind, name } = request.format?.kind === 'call' ? request.format : { kind: undefined, name: undefined };
      assert.equal([request.clientTools, kind, name, areToolsIgnored], [undefined, 'call', 'city', false]);
    }
  });

  check('are refused where any of several has to be called', async () => {
    const error = await rejection(forAgent(false)(requestWith(['city', 'clock'], 'required')));
    assert.ok(isBridgeFault(error) && error.detail.kind === 'bad-input' && error.detail.param === 'tool_choice');
  });

  check('stay as they are for one that takes them', async () => {
    const asked = requestWith(['city', 'clock'], 'required');
    assert.equal(await forAgent(true)(asked), { request: asked, areToolsIgnored: false });
  });
});
