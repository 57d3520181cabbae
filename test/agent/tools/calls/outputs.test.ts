import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { ask, callsOf, eventsOf, messagesOf, outputOf } from '../../harness/permission-requests.ts';
import { outcome, toolNamed } from '../../harness/world.ts';
import { resultsSent, worldWith } from './world.ts';

describe('the files of a result', (check) => {
  const url = `data:image/png;base64,${'AAAA'.repeat(20_000)}`;

  const camera = toolNamed('camera', async () => ({ ...outcome('a photo'), files: [{ mime: 'image/png', url }] }));

  check(
    'are stored with the call, sent to a model that reads them, and left out of events when they are large',
    async () => {
      const world = await worldWith([camera], { name: 'camera', input: {} });
      const id = await world.session();
      await ask(world, id);
      const [part] = await callsOf(world, id);
      const { attachments = [] } = part?.state.status === 'completed' ? part.state : {};
      assert.equal(
        attachments.map(({ id: _id, ...file }) => file),
        [{ sessionID: id, messageID: part?.messageID, type: 'file', mime: 'image/png', url }],
      );
      const sent = world.asked.at(-1)?.messages ?? [];
      assert.equal(resultsSent(world)[0]?.output, 'a photo');
      assert.equal(sent.at(-1), {
        role: 'user',
        content: [
          { kind: 'text', text: 'Files from the result of camera:' },
          { kind: 'file', mime: 'image/png', url },
        ],
      });
      const { id: copyID } = (await world.post(`/session/${id}/fork`, {})) as { id: string };
      const [copy] = await callsOf(world, copyID);
      const copied = copy?.state.status === 'completed' ? copy.state.attachments?.[0] : undefined;
      assert.equal([copied?.sessionID, copied?.messageID, copied?.url], [copyID, copy?.messageID, url]);
      assert.is.not(copied?.id, attachments[0]?.id);
      const events = await eventsOf(world, 'message.part.updated');
      assert.ok(events.length > 0);
      assert.not.match(JSON.stringify(events), 'AAAAAAAA');
      assert.match(JSON.stringify(events), 'data:image/png;omitted,');
    },
  );
});

describe('a long output', (check) => {
  const LONG = Array.from({ length: 3000 }, (_, index) => `line ${index}`).join('\n');

  check('is shown by its beginning, and the whole is kept and can be read', async () => {
    const world = await worldWith([toolNamed('read', async () => outcome(LONG))], { name: 'read', input: {} });
    const id = await world.session();
    await ask(world, id);
    const [part] = await callsOf(world, id);
    const shown = outputOf(part);
    assert.ok(shown.startsWith('line 0\n') && shown.includes('line 1999\n[') && !shown.includes('line 2000'));
    assert.is(part?.state.status === 'completed' && part.state.metadata.truncated, true);
    assert.is(resultsSent(world)[0]?.output, shown);
    const path = `/session/${id}/message/${part?.messageID}/part/${part?.id}/output`;
    const response = await world.call('GET', path);
    assert.is(response.headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.is(await response.text(), LONG);
  });

  check('of a failed call is cut and kept as well', async () => {
    const world = await worldWith([toolNamed('read', async () => outcome(LONG, true))], { name: 'read', input: {} });
    const id = await world.session();
    await ask(world, id);
    const [part] = await callsOf(world, id);
    assert.ok(outputOf(part).length < LONG.length);
    const path = `/session/${id}/message/${part?.messageID}/part/${part?.id}/output`;
    assert.is(await (await world.call('GET', path)).text(), LONG);
  });

  check('is only there under its own session and message', async () => {
    const world = await worldWith([toolNamed('read', async () => outcome(LONG))], { name: 'read', input: {} });
    const [id, other] = [await world.session(), await world.session()];
    const { info } = await ask(world, id);
    await ask(world, other);
    const [part] = await callsOf(world, id);
    const statusOf = async (sessionID: string, messageID: string | undefined) =>
      (await world.call('GET', `/session/${sessionID}/message/${messageID}/part/${part?.id}/output`)).status;
    const [foreign] = await messagesOf(world, other);
    assert.is(await statusOf(id, part?.messageID), 200);
    assert.is(await statusOf(id, info.id), 404, 'a message that does not hold the part');
    assert.is(await statusOf(id, foreign?.info.id), 404, 'a message of another session');
    assert.is(await statusOf(other, part?.messageID), 404, 'another session');
    assert.is(await statusOf(other, foreign?.info.id), 404, 'another session with a message of its own');
    assert.is(await statusOf(id, 'nonsense'), 404);
  });

  check('is only there for a call whose output was cut', async () => {
    const world = await worldWith([toolNamed('read')], { name: 'read', input: {} });
    const id = await world.session();
    await ask(world, id);
    const [part] = await callsOf(world, id);
    const response = await world.call('GET', `/session/${id}/message/${part?.messageID}/part/${part?.id}/output`);
    assert.is(response.status, 404);
  });
});
