import { nodeHexDigest } from '../../../../src/adapter/node/crypto.ts';
import type { Publication } from '../../../../src/agent/events/publisher.ts';
import { createIds } from '../../../../src/agent/protocol/ids.ts';
import type { PermissionDecision } from '../../../../src/agent/protocol/permissions.ts';
import { createSingleServer } from '../../../../src/agent/store/cluster.ts';
import { createApprovals } from '../../../../src/agent/tools/approvals.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { permissionRequest } from '../../store/samples.ts';

/** How long a request waits for an answer. */
export const LIMIT_MS = 60_000;
/** Who replies. */
export const BY = { by: 'ana' };

type WorldGiven = {
  readonly publish?: (fact: Publication) => Promise<unknown>;
  readonly record?: (decision: PermissionDecision) => Promise<void>;
  /** What a request waits for before it is open. */
  readonly open?: () => Promise<void>;
};

/** Approvals of one server over a fake clock, with what they report and what they keep. */
export const world = ({ publish, record, open }: WorldGiven = {}) => {
  const clock = createFakeClock();
  const ids = createIds(clock, (count) => crypto.getRandomValues(new Uint8Array(count)));
  const reported: string[] = [];
  const kept: PermissionDecision[] = [];
  const recordDecision = async (decision: PermissionDecision): Promise<void> => {
    await record?.(decision);
    kept.push(decision);
  };
  const board = createSingleServer({ recordDecision }).permissionRequests;
  const approvals = createApprovals({
    board: {
      ...board,
      async add(request, onOutcome) {
        await open?.();
        await board.add(request, onOutcome);
      },
    },
    ids,
    clock,
    timeoutMs: LIMIT_MS,
    digest: nodeHexDigest,
    publish: async (_directory, fact) => {
      await publish?.(fact);
      for (const { type, properties } of fact.drafts ?? []) {
        if (type === 'permission.asked') reported.push(`${properties.id} asked`);
        if (type === 'permission.replied') reported.push(`${properties.requestID} ${properties.reply}`);
      }
    },
  });
  const ask = (sessionID: string, permission: string, signal = new AbortController().signal) => {
    const { id: _, time: __, ...request } = permissionRequest('', sessionID);
    return approvals.request('/', { ...request, permission }, signal);
  };
  return { clock, approvals, reported, kept, ask };
};

/** Lets what is ready run. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
