// What the services meet in their containers: the toy judge, a scripted model and the toy relay, in one container.

import { systemClock } from '../../../src/adapter/node/clock.ts';
import { serveNode } from '../../../src/adapter/node/server.ts';
import { newId } from '../../../src/adapter/web-crypto.ts';
import { createDemoJudge } from '../../../src/demo/judge/server.ts';
import { createScriptedModel } from '../../../src/demo/model/model.ts';
import { demoScript } from '../../../src/demo/model/script.ts';
import { createDemoRelay } from '../../../src/demo/relay/relay.ts';
import { STAGE_PORTS } from './stage-ports.ts';

const host = '0.0.0.0';
await serveNode(createDemoJudge(), { host, port: STAGE_PORTS.judge });
await serveNode(createScriptedModel({ clock: systemClock, script: demoScript }), {
  host,
  port: STAGE_PORTS.model,
});
await serveNode(createDemoRelay({ clock: systemClock, newId }).handler, { host, port: STAGE_PORTS.relay });
process.once('SIGTERM', () => process.exit(0));
process.stdout.write('the stage is set\n');
