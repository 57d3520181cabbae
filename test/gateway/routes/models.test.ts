import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { errorOf } from '../harness/read-answer.ts';
import { gatewayOver, judging } from '../harness/world.ts';

describe('the list of models', (check) => {
  check('holds every alias, in OpenAI shape', async () => {
    const { visit } = gatewayOver(judging(), { variables: { MODERATION_MODELS: '{"my/own":"m"}' } });
    const { object, data } = (await (await visit('/v1/models')).json()) as { object: string; data: { id: string }[] };
    assert.is(object, 'list');
    const ids = ['moderation-fast', 'moderation-standard', 'moderation-accurate', 'my/own', 'omni-moderation-latest'];
    ids.push('qwen3guard', 'sileader/qwen3guard:0.6b', 'guard-json');
    assert.equal(data.map(({ id }) => id).sort(), ids.sort());
    for (const model of data) {
      assert.equal(model, { id: model.id, object: 'model', created: 1767225600, owned_by: 'gatehouse' });
      assert.equal(await (await visit(`/v1/models/${encodeURIComponent(model.id)}`)).json(), model);
    }
  });
  check(
    'answers an unknown one as 404 with the valid ones, and names it only if it is near to one of them',
    async () => {
      const { visit } = gatewayOver(judging());
      const error = await errorOf(await visit('/v1/models/nothing-here'));
      assert.is(`${error.status} ${error.code}`, '404 model_not_found');
      assert.match(error.message, 'moderation-fast');
      assert.match(error.message, /^this model is not configured\. /);
      const slip = await errorOf(await visit('/v1/models/moderation-fsat'));
      assert.match(slip.message, /^model "moderation-fsat" is not configured; the nearest is "moderation-fast"\. /);
    },
  );
  check('is for holders of a key', async () => {
    const { visit } = gatewayOver(judging());
    for (const path of ['/v1/models', '/v1/models/moderation-fast', '/v1/models/x']) {
      assert.is((await errorOf(await visit(path, 'GET', { authorization: 'Bearer no' }))).status, 401);
    }
  });
});
