import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Variables } from '../../core/config.ts';
import { isRecord } from '../../core/json.ts';

export type ProcessNeeds = {
  /** A service: the name of its bundle, which stands beside this one. */
  readonly service: string;
  readonly variables: Variables;
  readonly directory: string;
  /** Another port will do: when this one is in use, the message about it is dropped. */
  readonly mayChangePort?: boolean;
};

export type DemoProcess = {
  /** Its address, once it listens. Rejects when it ends before that; it has printed the reason itself. */
  readonly address: Promise<string>;
  /** Its exit code. */
  readonly ended: Promise<number>;
  /** How it ended: `signal SIGKILL`, `exit code 1`. Empty while it runs. */
  readonly endedBy: () => string;
  /** Whether it ended because its port was in use and it may use another one. */
  readonly hasPortConflict: () => boolean;
  /** Sends SIGTERM, or SIGKILL with `hard`. Resolves with the exit code. */
  readonly end: (how?: 'hard') => Promise<number>;
};

/** A service did not start, or ended by itself. `how` is known where its process has ended: its signal or exit code. */
export class ServiceEnded extends Error {
  override readonly name = 'ServiceEnded';

  constructor(service: string, how?: string) {
    super(`${service} did${how === undefined ? '' : ` (${how})`}`);
  }
}

const PORT_TAKEN = /\bPORT: port \d+ \S+ \S+ is in use\b/;

/** Starts a service in a process of its own. Its error output goes to the terminal. */
export const startProcess = ({ service, variables, directory, mayChangePort = false }: ProcessNeeds): DemoProcess => {
  const child = spawn(process.execPath, [fileURLToPath(new URL(`./${service}.js`, import.meta.url))], {
    cwd: directory,
    env: variables,
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    // A terminal sends Ctrl-C to its whole process group, but this process has to stop the services in order.
    detached: true,
  });
  let buffered = '';
  let isBuffering = mayChangePort;
  let isPortTaken = false;
  let isStopRequested = false;
  let endedBy = '';
  const release = (): void => {
    isBuffering = false;
    process.stderr.write(buffered);
    buffered = '';
  };
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    buffered += text;
    if (!isBuffering) release();
  });
  const ended = new Promise<number>((settle) => {
    child.once('close', (code, signal) => {
      isPortTaken = isBuffering && PORT_TAKEN.test(buffered);
      if (!isPortTaken) release();
      endedBy = signal === null ? `exit code ${code}` : `signal ${signal}`;
      // Early in its start it ends by the signal itself, without an exit code.
      settle(isStopRequested && signal === 'SIGTERM' ? 0 : (code ?? 1));
    });
    child.once('error', () => {
      endedBy ||= 'it could not be started';
      settle(1);
    });
  });
  const address = new Promise<string>((settle, reject) => {
    child.on('message', (message) => {
      if (!isRecord(message) || typeof message.address !== 'string') return;
      release();
      settle(message.address);
    });
    void ended.then(() => reject(new ServiceEnded(service, endedBy)));
  });
  // A rejection that no one waits for must not end the demo.
  address.catch(() => {});
  return {
    address,
    ended,
    endedBy: () => endedBy,
    hasPortConflict: () => isPortTaken,
    end(how) {
      isStopRequested = true;
      child.kill(how === undefined ? 'SIGTERM' : 'SIGKILL');
      return ended;
    },
  };
};
