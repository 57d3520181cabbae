import { type ChildProcess, fork } from 'node:child_process';
import { createServer, type Socket } from 'node:net';
import * as v from 'valibot';
import type { Clock } from '../../../core/clock.ts';
import type { Variables } from '../../../core/config.ts';
import type { Log } from '../../../core/log.ts';
import type { RateLimit } from '../../../gateway/rate-limit.ts';
import { createWatcherMetrics } from '../../prometheus/workers.ts';
import { formatAddress, type RunningServer } from '../server.ts';
import { CLOSE_LIMIT_MS, printErrors, startErrors, within } from '../service.ts';
import { createChannel } from './channel.ts';
import { createDistributor, type Registration } from './distributor.ts';
import { createHub } from './hub.ts';
import { ACCEPTED, CONNECTION, WorkerNotice, WorkerQuestion } from './messages.ts';
import { placeVariable } from './place.ts';
import { createSupervisor, type WorkerEvents } from './supervisor.ts';

type WorkersNeeds = {
  /** The service's, for what is printed outside the log. */
  readonly name: string;
  /** The program that each worker runs. */
  readonly file: string;
  /** What workers get beside the variables of this process. */
  readonly variables: Variables;
  readonly count: number;
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Counts for all workers. */
  readonly rateLimit: RateLimit;
  /** What the policy file holds, for all workers; undefined where there is none. */
  readonly policyText: string | undefined;
};

type Worker = { readonly child: ChildProcess; readonly stop: () => void };

/** How long connections that were accepted may wait for a worker once the service is asked to stop. */
const GIVE_LIMIT_MS = 500;
/** How much longer than its own limits a worker may take to end. */
const END_MARGIN_MS = 1000;
const EOF_CHECK_MS = 10;
const EOF_CHECKS = 100;

/**
 * What Node is started with: as this process, and with the size of the young generation that `npm start` sets. Node's own is four
 * times that, and takes about 110 MB more in each worker under load, for the same processor time.
 */
const workerArguments = (): readonly string[] => {
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ');
  return /--max[-_]semi[-_]space[-_]size/.test(given)
    ? process.execArgv
    : [...process.execArgv, '--max-semi-space-size=8'];
};

/**
 * Calls back once nothing can arrive from an ended process any more. Node reports the end before it has read all messages, and
 * does not report the end of the channel in every case.
 */
const afterLastMessage = (child: ChildProcess, done: () => void, checks = EOF_CHECKS): void => {
  if (child.connected && checks > 0) setTimeout(afterLastMessage, EOF_CHECK_MS, child, done, checks - 1);
  else setImmediate(done);
};

/**
 * Starts the workers of a service, opens its port once all take connections, and gives each connection to one of them. Rejects
 * as `Supervisor.started` does, or with Node's own error when the port cannot be opened. Ends this process with 1 when no worker
 * stays up later on.
 */
export const startWorkers = async (needs: WorkersNeeds): Promise<RunningServer> => {
  const { name, file, variables, count, host, port, clock, log, rateLimit, policyText } = needs;
  const workers = new Set<Worker>();
  const killAll = (): void => {
    for (const { child } of workers) child.kill('SIGKILL');
  };
  // However this process ends by itself, no worker stays. When it is killed, they notice and end.
  process.on('exit', killAll);
  let isStopping = false;
  let onAllEnded: (() => void) | undefined;
  const distributor = createDistributor<Socket>(clock);
  const metrics = createWatcherMetrics(() => supervisor.running());
  const hub = createHub({ clock, rateLimit, ownFamilies: metrics.families, policyText, isStopping: () => isStopping });

  const start = (number: number, events: WorkerEvents): void => {
    const env = { ...process.env, ...variables, ...placeVariable({ number, of: count }) };
    const child = fork(file, { env, execArgv: [...workerArguments()], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    // A process that is gone is noticed by its end; a message that cannot be sent is of no use to it.
    const send = (message: unknown, socket?: Socket, done: (error: Error | null) => void = () => {}): void =>
      void child.send(message as object, socket, { keepOpen: true }, done);
    let registration: Registration | undefined;
    const channel = createChannel({
      clock,
      send: (message, done) => send(message, undefined, done),
      onNotice(given) {
        const notice = v.safeParse(WorkerNotice, given);
        if (!notice.success) return;
        member.onNotice(notice.output);
        if (notice.output.kind === 'failed') events.onFailed(notice.output.problems);
        if (notice.output.kind === 'closed') registration?.closed(notice.output.count);
        if (notice.output.kind !== 'started' || registration !== undefined) return;
        registration = distributor.join((socket, onFailed) =>
          send(CONNECTION, socket, (error) => error !== null && onFailed()),
        );
        events.onStarted();
      },
      onQuestion: (given) => member.onQuestion(v.parse(WorkerQuestion, given)),
    });
    const member = hub.join(channel);
    const worker = { child, stop: () => channel.notify({ kind: 'stop' }) };
    workers.add(worker);
    const end = (reason: string): void => {
      if (!workers.delete(worker)) return;
      channel.close();
      registration?.leave();
      member.leave();
      if (workers.size === 0) onAllEnded?.();
      events.onEnded(reason);
    };
    child.on('message', (message) => (message === ACCEPTED ? registration?.accepted() : channel.receive(message)));
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) end(`no process could be started: ${error.code}`);
    });
    child.once('exit', (code, signal) => afterLastMessage(child, () => end(signal ?? `exit code ${code}`)));
  };
  const onProblems = (problems: readonly string[]): void => printErrors(name, problems);
  const supervisor = createSupervisor({ count, clock, log, start, onReplaced: metrics.restarted, onProblems });

  const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
    socket.on('error', () => {});
    distributor.offer(socket);
  });
  const stop = async (limitMs: number): Promise<void> => {
    isStopping = true;
    supervisor.stop();
    server.close();
    await within(GIVE_LIMIT_MS, distributor.allGiven());
    const allEnded = new Promise<void>((resolve) => {
      onAllEnded = resolve;
      if (workers.size === 0) resolve();
    });
    for (const worker of workers) worker.stop();
    await within(limitMs + CLOSE_LIMIT_MS + END_MARGIN_MS, allEnded);
    killAll();
  };
  try {
    await supervisor.started;
    await new Promise<void>((resolve, reject) => {
      server.on('error', reject);
      server.listen(port, host, resolve);
    });
  } catch (error) {
    supervisor.stop();
    killAll();
    throw error;
  }
  supervisor.failed.catch((error: unknown) => {
    // After the lines that are still to be written.
    setImmediate(() => {
      printErrors(name, startErrors(error));
      process.exit(1);
    });
  });
  return { address: formatAddress(server.address()), stop };
};
