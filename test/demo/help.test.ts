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
    assert.match(demoBanner(facts, []).split('\n')[0] ?? '', 'Open http://127.0.0.1:4200 in a browser');
  });

  check('names a service that is not on its usual port, and why', () => {
    const reason = 'port 4100 is in use, so the bridge is at http://127.0.0.1:9';
    assert.match(demoBanner({ ...facts, moved: [reason] }, []), `NOTE: ${reason}`);
    assert.not.match(demoBanner(facts, []), 'NOTE');
  });
});
