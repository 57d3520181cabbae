import * as assert from 'uvu/assert';
import { createAgentCatalog } from '../../../src/agent/agents/from-config.ts';
import { createCommandList } from '../../../src/agent/config/views.ts';
import { describe } from '../../check.ts';
import { configOf, type Json, problemsOf } from './world.ts';

const provider = {
  home: { options: { baseURL: 'http://127.0.0.1:1/v1' }, models: { small: { variants: { high: {} } } } },
};
const configWith = (command: Json, variables = {}) => configOf({ provider, command }, variables);
const problemsWith = (command: Json) => problemsOf({ provider, command });

describe('the commands of a configuration', (check) => {
  check('are listed as clients know them, without what came from variables', () => {
    const config = configWith(
      {
        token: {
          template: 'Use $2 and $ARGUMENTS',
          description: 'Uses',
          agent: 'plan',
          model: 'home/small',
          variant: 'high',
        },
        plain: { template: 'Say {env:PHRASE} to $1' },
      },
      { PHRASE: 'canary $3' },
    );
    assert.equal(createCommandList(config), [
      {
        name: 'token',
        description: 'Uses',
        agent: 'plan',
        model: 'home/small',
        source: 'command',
        template: 'Use $2 and $ARGUMENTS',
        hints: ['$2', '$ARGUMENTS'],
      },
      { name: 'plain', source: 'command', template: '[redacted]', hints: ['$1', '$3'] },
    ]);
    assert.equal(config.warnings, []);
    const { commands } = createAgentCatalog(config);
    assert.equal(commands.get('token')?.model, { providerID: 'home', modelID: 'small', variant: 'high' });
    assert.is(commands.get('plain')?.template, 'Say canary $3 to $1');
  });

  for (const [what, command, problem] of [
    ['no template', { look: {} }, 'command.look.template: expected'],
    ['a blank template', { look: { template: ' ' } }, 'command.look.template: expected a text that is not blank'],
    ['a name with blanks', { 'look at': { template: 'x' } }, 'without blanks'],
    [
      'an agent that there is not',
      { look: { template: 'x', agent: 'pan' } },
      'command.look.agent: expected an agent that is not hidden, the nearest one is "plan"',
    ],
    [
      'a hidden agent',
      { look: { template: 'x', agent: 'title' } },
      'command.look.agent: expected an agent that is not hidden',
    ],
    [
      'a model that there is not',
      { look: { template: 'x', model: 'home/smal' } },
      'command.look.model: expected a model that is configured',
    ],
    [
      'a variant that its model has not',
      { look: { template: 'x', model: 'home/small', variant: 'low' } },
      'command.look.variant: expected a variant of its model',
    ],
    [
      'a variant of no model',
      { look: { template: 'x', variant: 'high' } },
      'command.look.variant: expected a model beside it',
    ],
    ['an unknown name', { look: { templat: 'x' } }, 'unknown name "templat", the nearest known one is "template"'],
  ] as const)
    check(`are refused with ${what}`, () => assert.match(problemsWith(command).join('\n'), problem));

  check('say that they are never tasks', () => {
    const { warnings } = configWith({ look: { template: 'x', subtask: true } });
    assert.match(warnings.join(), 'command.look.subtask: read for compatibility, without effect');
  });
});
