import * as assert from 'uvu/assert';
import { demoBanner } from '../../src/demo/help.ts';
import { describe } from '../check.ts';

const facts = {
  console: 'http://127.0.0.1:4200',
  ...{ gateway: 'http://127.0.0.1:8000', agent: 'http://127.0.0.1:4000', bridge: 'http://127.0.0.1:4100' },
  ...{
    judge: 'j',
    judgeModel: 'demo-judge',
    model: 'm',
    modelName: 'demo/demo-model',
    relay: 'r',
    relayKey: 'u',
    key: 'k',
  },
  ...{ adminKey: 'a', client: { file: 'f', text: '{}' }, moved: [] },
};

describe('what the demo prints first', (check) => {
  check('is the address of the console', () => {
    assert.match(demoBanner(facts, [], undefined).split('\n')[0] ?? '', 'Open http://127.0.0.1:4200 in a browser');
  });

  check('has the inspector run where its package is', () => {
    assert.is(
      demoBanner(facts, [], '/opt/a clone').match(/^ {2}cd '\/opt\/a clone' && npx .*--method tools\//gm)?.length,
      2,
    );
    assert.is(demoBanner(facts, [], undefined).match(/^ {2}npx .*--method tools\//gm)?.length, 2);
  });

  check('names a service that is not on its usual port, and why', () => {
    const reason = 'port 4100 is in use, so the bridge is at http://127.0.0.1:9';
    assert.match(demoBanner({ ...facts, moved: [reason] }, [], undefined), `NOTE: ${reason}`);
    assert.not.match(demoBanner(facts, [], undefined), 'NOTE');
  });
});
