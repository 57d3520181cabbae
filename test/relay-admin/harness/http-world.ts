import { createServer } from 'node:net';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { createNodeHttpClient } from '../../../src/adapter/node/http-client.ts';
import { newId, webDigest, webMac } from '../../../src/adapter/web-crypto.ts';

import type { HttpClient } from '../../../src/core/http/client.ts';
import { createLog } from '../../../src/core/log.ts';
import { createRelayAdmin, type RelayAdmin } from '../../../src/relay-admin/app.ts';
import { readRelayConfig } from '../../../src/relay-admin/settings.ts';
import { KEY } from './canaries.ts';
import { listening, type RunningRelay, startRelay } from './relay-server.ts';
import { createMemoryFile } from './world.ts';

const LOOPBACK = '127.0.0.1';

/** What a call may take where nothing is slow on purpose, and where something is. */
const USUAL_LIMIT_MS = 20_000;
export const SHORT_LIMIT_MS = 1000;

/** The tools as the program builds them, and all that they write down or throw on their way. */
export type HttpTools = {
  readonly limitMs: number;
  readonly admin: RelayAdmin;
  readonly written: () => readonly string[];
  readonly thrown: unknown[];
};

export const httpTools = (
  origin: string,
  limitMs: number = USUAL_LIMIT_MS,
): HttpTools & { readonly patient: HttpTools } => {
  const { httpClient: direct } = createNodeHttpClient();
  const file = createMemoryFile();
  const logged: string[] = [];
  const thrown: unknown[] = [];
  const httpClient: HttpClient = (sent) =>
    direct(sent).catch((error: unknown) => {
      thrown.push(error);
      throw error;
    });
  const toolsWithin = (ms: number): HttpTools => {
    const admin = createRelayAdmin({
      config: readRelayConfig({
        RELAY_BASE_URL: origin,
        RELAY_ALLOWED_HOST: LOOPBACK,
        RELAY_ADMIN_API_KEY: KEY,
        RELAY_TIMEOUT_MS: String(ms),
      }),
      httpClient,
      clock: systemClock,
      journalFile: file.open(),
      digest: webDigest,
      mac: webMac,
      newId,
      log: createLog({
        level: 'debug',
        service: 'relay-admin',
        clock: systemClock,
        write: (line) => logged.push(line),
      }),
      version: '0.0.0-test',
    });
    return { limitMs: ms, admin, written: () => [...logged, ...file.lines], thrown };
  };
  return { ...toolsWithin(limitMs), patient: toolsWithin(USUAL_LIMIT_MS) };
};

type HttpWorld = HttpTools &
  RunningRelay & {
    /** The same tools over the same journal, with time for what has to succeed on a busy machine, too. */
    readonly patient: HttpTools;
  };

/** The tools and the demo relay with sockets in between. */
export const withHttpWorld = (
  use: (world: HttpWorld) => Promise<void>,
  limitMs: number = USUAL_LIMIT_MS,
): Promise<void> => withFront((relay) => use({ ...relay, ...httpTools(relay.origin, limitMs) }));

/** A relay on a port of its own, in front of which a test may say anything. */
export const withFront = async (use: (front: RunningRelay) => Promise<void>): Promise<void> => {
  const relay = await startRelay({ adminKey: KEY });
  try {
    await use(relay);
  } finally {
    await relay.stop();
  }
};

type Elsewhere = { readonly origin: string; readonly host: string; readonly visits: () => number };

/** A place where nobody should ever come: even a connection without a word is a visit. */
export const withElsewhere = async (use: (elsewhere: Elsewhere) => Promise<void>): Promise<void> => {
  let visits = 0;
  const server = createServer((socket) => {
    visits += 1;
    socket.destroy();
  });
  const host = `${LOOPBACK}:${await listening(server)}`;
  try {
    await use({ origin: `http://${host}`, host, visits: () => visits });
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
};
