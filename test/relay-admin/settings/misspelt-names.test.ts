import * as assert from 'uvu/assert';
import { unknownRelaySettings } from '../../../src/relay-admin/settings.ts';
import { describe } from '../../check.ts';
import { configOf, NEEDED, problemsOf, problemWith } from './world.ts';

describe('a setting that is named like ours and is none', (check) => {
  check('stops the start: a misspelt RELAY_READ_ONLY must not leave the tools on', () => {
    for (const name of ['RELAY_READONLY', 'RELAI_READ_ONLY'])
      assert.is(problemWith({ [name]: 'true' }), `${name}: this variable has no effect; did you mean RELAY_READ_ONLY?`);
  });

  check('stands beside the variable that it should have been', () => {
    assert.equal(problemsOf({ RELAY_BASEURL: 'x', RELAY_ALLOWED_HOST: 'relay.example', LOG_LEVL: 'warn' }).slice(-2), [
      'RELAY_BASEURL: this variable has no effect; did you mean RELAY_BASE_URL?',
      'LOG_LEVL: warning: this variable has no effect; did you mean LOG_LEVEL?',
    ]);
  });

  check('does not stop the start when it is no protection, or when Kubernetes set it', () => {
    assert.is(
      configOf({ LOG_LEVL: 'warn', RELAY_PORT_8080_TCP: 'tcp://10.0.0.1:8080', RELAY_SERVICE_HOST: '10.0.0.1' })
        .isReadOnly,
      false,
    );
  });

  check('is reported with the nearest of ours', () => {
    assert.equal(
      [
        ...unknownRelaySettings({
          ...NEEDED,
          RELAY_TIMEOUT: '1',
          RELAY_BASEURL: 'x',
          RELAY_READONLY: 'true',
          PATH: '/bin',
        }),
      ],
      [
        ['RELAY_TIMEOUT', 'RELAY_TIMEOUT_MS'],
        ['RELAY_BASEURL', 'RELAY_BASE_URL'],
        ['RELAY_READONLY', 'RELAY_READ_ONLY'],
      ],
    );
  });

  check('is not one that we read, nor one that somebody else does', () => {
    const ours = {
      ...NEEDED,
      RELAY_ADMIN_API_KEY: '',
      RELAY_TIMEOUT_MS: '',
      RELAY_MAX_RECHARGE: '',
      RELAY_JOURNAL: '',
      RELAY_READ_ONLY: '',
      LOG_LEVEL: '',
      MY_RELAY_X: '',
      relay_x: '',
    };
    assert.is(unknownRelaySettings(ours).size, 0);
  });
});
