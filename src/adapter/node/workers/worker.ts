import { Socket } from 'node:net';
import * as v from 'valibot';
import type { Variables } from '../../../core/config.ts';
import type { Handler } from '../../../core/http/handler.ts';
import type { Log } from '../../../core/log.ts';
import type { MetricFamilies } from '../../prometheus/merge.ts';
import { systemClock } from '../clock.ts';
import { type ConnectionServer, type ServingOptions, serveConnections } from '../server.ts';
import {
  CLOSE_LIMIT_MS,
  createLineWriter,
  exitOnBug,
  type ProcessContext,
  STOP_LIMIT_MS,
  startErrors,
  within,
} from '../service.ts';
import { STOP_SIGNALS } from '../signals.ts';
import { type Channel, createChannel } from './channel.ts';
import { ACCEPTED, CONNECTION, ParentNotice, ParentQuestion } from './messages.ts';
import type { WorkerState } from './shared-state.ts';

/** A service that a worker has built. */
export type WorkerService = Pick<ServingOptions, 'directPaths'> & {
  readonly handler: Handler;
  readonly log: Log;
  readonly state: Pick<WorkerState, 'onNotice' | 'onReadyQuestion' | 'admin'>;
  /** The metrics of this worker alone. */
  readonly families: () => Promise<MetricFamilies>;
  /** Called when the worker stops. */
  readonly onStopping?: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type WorkerContext = ProcessContext & { readonly channel: Channel };

/** A worker that is killed takes what it has counted since it last reported that. */
const METRICS_EVERY_MS = 5000;

/**
 * Runs one worker of a service until the process that started it asks it to stop, or is gone. Errors of a failed start go to
 * that process, which prints them once.
 */
export const runWorker = async (
  name: string,
  variables: Variables,
  build: (context: WorkerContext) => Promise<WorkerService>,
): Promise<void> => {
  const lines = createLineWriter(true);
  exitOnBug(name, lines);
  // A terminal, or a service manager, sends its signals to all processes. The first one alone decides.
  for (const signal of STOP_SIGNALS) process.on(signal, () => {});
  const send = (message: unknown, done: () => void = () => {}): void =>
    void process.send?.(message, undefined, undefined, done);
  let service: WorkerService | undefined;
  let server: ConnectionServer | undefined;
  let isStopping = false;

  const stop = async (): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    await Promise.all([server?.stop(STOP_LIMIT_MS), within(STOP_LIMIT_MS, service?.onStopping?.())]);
    await within(CLOSE_LIMIT_MS, service?.close());
    lines.flush();
    process.exit(0);
  };
  const channel = createChannel({
    clock: systemClock,
    send,
    onNotice(given) {
      const notice = v.safeParse(ParentNotice, given);
      if (!notice.success) return;
      if (notice.output.kind === 'stop') stop();
      else service?.state.onNotice(notice.output);
    },
    onQuestion(given) {
      const { kind } = v.parse(ParentQuestion, given);
      if (kind === 'state') return service?.state.admin.ownState();
      return kind === 'metrics' ? service?.families() : service?.state.onReadyQuestion();
    },
  });
  let closed = 0;
  const sendClosed = (): void => {
    channel.notify({ kind: 'closed', count: closed });
    closed = 0;
  };
  const countClosed = (): void => {
    closed += 1;
    if (closed === 1) setImmediate(sendClosed);
  };
  process.on('message', (message, handle) => {
    if (message !== CONNECTION) return channel.receive(message);
    // Before anything is read from it: see the distributor.
    send(ACCEPTED);
    if (!(handle instanceof Socket)) return countClosed();
    handle.once('close', countClosed);
    if (server === undefined) handle.destroy();
    else server.take(handle);
  });
  const onParentGone = (): void => {
    channel.close();
    if (!isStopping) service?.log('error', 'first-process-ended');
    stop();
  };
  process.on('disconnect', onParentGone);
  // It may have ended before anyone listened.
  if (!process.connected) return onParentGone();

  try {
    const built = await build({ variables, writeLine: lines.write, isStopping: () => isStopping, channel });
    service = built;
    server = serveConnections(built.handler, built);
    channel.notify({ kind: 'started' });
    const sendMetrics = async (): Promise<void> =>
      channel.notify({ kind: 'metrics', families: await built.families() });
    setInterval(sendMetrics, METRICS_EVERY_MS).unref();
  } catch (error) {
    lines.flush();
    send([['notice', { kind: 'failed', problems: startErrors(error) }]], () => process.exit(1));
  }
};
