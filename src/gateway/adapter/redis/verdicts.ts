import nodeCrypto from 'node:crypto';
import * as v from 'valibot';
import type { Clock } from '../../../core/clock.ts';
import { parseJson } from '../../../core/json.ts';
import type { Log } from '../../../core/log.ts';
import type { SharedVerdicts } from '../../judge/cache.ts';
import type { RedisConnection } from './connection.ts';

const SIGNATURE_CHARS = 43;
/** Whoever fills a database with verdicts must not fill the log as well. */
const LOG_EVERY_MS = 60_000;

/** Signs a value in Redis for the name that it stands under: HMAC-SHA256, with the signature before the value. */
export const createRedisSigner = (secret: string): ((name: string, text: string) => string) => {
  const key = nodeCrypto.createHmac('sha256', secret).update('gatehouse verdicts in Redis').digest();
  return (name, text) => nodeCrypto.createHmac('sha256', key).update(`${name}\n${text}`).digest('base64url') + text;
};

const isSame = (left: Buffer, right: Buffer): boolean =>
  left.length === right.length && nodeCrypto.timingSafeEqual(left, right);

/** The stored scores of a verdict. Anything else counts as not found: no score is ever made up. */
const StoredScores = v.pipe(v.array(v.pipe(v.number(), v.minValue(0), v.maxValue(1))), v.readonly());

type RedisVerdictsNeeds = {
  readonly connection: RedisConnection;
  readonly prefix: string;
  /** What all replicas have, and nobody else who can write to Redis. */
  readonly secret: string;
  readonly log: Log;
  readonly clock: Clock;
};

/**
 * Creates verdicts in Redis, each for `lifetimeMs` from its storing. 0 stores none. A value that no gateway with the same secret has
 * signed counts as not found, and is logged.
 */
export const createRedisVerdicts = ({
  connection,
  prefix,
  secret,
  log,
  clock,
}: RedisVerdictsNeeds): ((lifetimeMs: number) => SharedVerdicts) => {
  const sign = createRedisSigner(secret);
  let refused = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;

  const verifiedText = (name: string, stored: string): string | undefined => {
    const text = stored.slice(SIGNATURE_CHARS);
    if (isSame(Buffer.from(stored), Buffer.from(sign(name, text)))) return text;
    refused += 1;
    if (clock.now() - loggedAt >= LOG_EVERY_MS) {
      log('warn', 'shared-verdict-refused', { count: refused });
      loggedAt = clock.now();
      refused = 0;
    }
    return undefined;
  };

  return (lifetimeMs) => ({
    async find(key, count) {
      if (lifetimeMs === 0) return undefined;
      const name = prefix + key;
      const stored = await connection.run((redis) => redis.get(name));
      const text = typeof stored === 'string' ? verifiedText(name, stored) : undefined;
      const scores = text === undefined ? undefined : parseJson(StoredScores, text);
      if (scores?.length !== count) return undefined;
      // Most texts are not found, so that the lifetime is asked for by those that are. Without one (-1) it is not ours.
      const leftMs = (await connection.run((redis) => redis.pttl(name))) ?? 0;
      return leftMs <= 0 ? undefined : { scores, leftMs };
    },
    store(key, scores) {
      if (lifetimeMs === 0) return;
      const name = prefix + key;
      const value = sign(name, JSON.stringify(scores));
      connection.runSoon((redis) => redis.set(name, value, 'PX', Math.ceil(lifetimeMs)));
    },
  });
};
