import { systemClock } from '../../adapter/node/clock.ts';
import { type RunningServer, serveNode } from '../../adapter/node/server.ts';
import { newId } from '../../adapter/web/crypto.ts';
import type { Handler } from '../../core/http/handler.ts';
import { createDemoJudge } from '../../demo/judge/server.ts';
import { createScriptedModel } from '../../demo/model/model.ts';
import { demoScript } from '../../demo/model/script.ts';
import { createDemoRelay } from '../../demo/relay/relay.ts';
import type { Credit } from '../../demo/relay/world.ts';
import { LOOPBACK } from './port.ts';

const STOP_LIMIT_MS = 2000;

/** The demo's replacements for the outside services: judge, model and relay, in this process. */
export type Toys = {
  readonly judge: string;
  readonly model: string;
  readonly relay: string;
  readonly relayCredits: readonly Credit[];
  readonly stop: () => Promise<unknown>;
};

const serve = (handler: Handler, port = 0): Promise<RunningServer> => serveNode(handler, { host: LOOPBACK, port });

/** Serves all three on loopback. The relay gets its fixed port when it is free, so that a client's configuration fits the next demo, too. */
export const startToys = async (relayPort: number): Promise<Toys> => {
  const relay = createDemoRelay({ clock: systemClock, newId });
  const model = createScriptedModel({ clock: systemClock, script: demoScript });
  const servers = await Promise.all([
    serve(createDemoJudge()),
    serve(model),
    serve(relay.handler, relayPort).catch(() => serve(relay.handler)),
  ]);
  const [judge, chat, platform] = servers;
  return {
    judge: judge.address,
    model: chat.address,
    relay: platform.address,
    relayCredits: relay.world.credits,
    stop: () => Promise.all(servers.map((server) => server.stop(STOP_LIMIT_MS))),
  };
};
