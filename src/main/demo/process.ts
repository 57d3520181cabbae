import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Variables } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';

export type ProcessNeeds = {
  /** A service: the name of its bundle, which stands beside this one. */
  readonly service: string;
  readonly variables: Variables;
  readonly directory: string;
  /** Another port will do: when its own is taken, nobody is told. */
  readonly mayMove?: boolean;
};

export type DemoProcess = {
  /** Its address, once it listens. Rejects when it ends before that; it has said why itself. */
  readonly address: Promise<string>;
  /** Its exit code. */
  readonly ended: Promise<number>;
  /** Whether it ended because its port was taken, and may move. */
  readonly isToMove: () => boolean;
  /** Asks it to end, and makes it end when asked `hard`. Settles when it is gone. */
  readonly end: (how?: 'hard') => Promise<number>;
};

/** A service did not start, or ended by itself. */
export class ServiceEnded extends Error {
  override readonly name = 'ServiceEnded';
}

const PORT_TAKEN = /\bPORT: port \d+ \S+ \S+ is in use\b/;

/** Starts a service in a process of its own. What it complains of goes to the terminal. */
export const startProcess = ({ service, variables, directory, mayMove = false }: ProcessNeeds): DemoProcess => {
  const child = spawn(process.execPath, [fileURLToPath(new URL(`./${service}.js`, import.meta.url))], {
    cwd: directory,
    env: variables,
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    // A terminal sends Ctrl-C to all of its group: services are to be ended in order, by this process alone.
    detached: true,
  });
  let held = '';
  let isHeld = mayMove;
  let isToMove = false;
  let isAsked = false;
  const release = (): void => {
    isHeld = false;
    process.stderr.write(held);
    held = '';
  };
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    held += text;
    if (!isHeld) release();
  });
  const ended = new Promise<number>((settle) => {
    child.once('close', (code, signal) => {
      isToMove = isHeld && PORT_TAKEN.test(held);
      if (!isToMove) release();
      // Early in its start it ends by the signal itself.
      settle(isAsked && signal === 'SIGTERM' ? 0 : (code ?? 1));
    });
    child.once('error', () => settle(1));
  });
  const address = new Promise<string>((settle, reject) => {
    child.on('message', (message) => {
      if (!isRecord(message) || typeof message.address !== 'string') return;
      release();
      settle(message.address);
    });
    void ended.then(() => reject(new ServiceEnded(service)));
  });
  // Whoever waits for the demo to end does not wait for this.
  address.catch(() => {});
  return {
    address,
    ended,
    isToMove: () => isToMove,
    end(how) {
      isAsked = true;
      child.kill(how === undefined ? 'SIGTERM' : 'SIGKILL');
      return ended;
    },
  };
};
