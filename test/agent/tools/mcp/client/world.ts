import * as assert from 'uvu/assert';
import { connectMcp, type McpClientOptions, type McpConnection } from '../../../../../src/agent/tools/mcp/client.ts';
import { type McpErrorKind, McpServerError } from '../../../../../src/agent/tools/mcp/errors.ts';
import { rejection } from '../../../../check.ts';
import { createFakeClock } from '../../../../fake-clock.ts';
import { createPeer, type Peer, type PeerNeeds } from '../peer.ts';

/** A caller who never leaves. */
export const NOBODY = new AbortController().signal;
/** How long a call may take. */
export const LIMIT_MS = 30_000;

/** A connection to a tool server. */
export const over = (peer: Peer, more: Partial<McpClientOptions> = {}, signal = NOBODY): Promise<McpConnection> =>
  connectMcp(
    {
      transport: peer.transport,
      clock: createFakeClock(),
      timeoutMs: LIMIT_MS,
      version: '1.2.3',
      root: undefined,
      onToolsChanged: () => {},
      ...more,
    },
    signal,
  );

/** A connection to a tool server of its own. */
export const connected = async (needs: PeerNeeds = {}, more: Partial<McpClientOptions> = {}) => {
  const peer = createPeer(needs);
  return { peer, connection: await over(peer, more) };
};

/** The error of a call that must fail with this kind. */
export const problem = async (promise: Promise<unknown>, kind: McpErrorKind): Promise<McpServerError> => {
  const error = await rejection(promise);
  assert.instance(error, McpServerError);
  assert.is((error as McpServerError).kind, kind);
  return error as McpServerError;
};
