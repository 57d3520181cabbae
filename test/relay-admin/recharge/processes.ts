import { createHash, createHmac } from 'node:crypto';
import type { HttpClient } from '../../../src/core/http/client.ts';
import { DEMO_ADMIN_KEY } from '../../../src/demo/relay/records/secrets.ts';
import { createRelayAdmin, type RelayAdmin } from '../../../src/relay-admin/app.ts';
import type { JournalFile } from '../../../src/relay-admin/recharge/journal.ts';
import { readRelayConfig } from '../../../src/relay-admin/settings.ts';
import type { RelayControl } from '../../demo/relay/control.ts';
import { createFakeClock, type FakeClock } from '../../fake-clock.ts';
import { createHeldOperations, createLife, type HeldOperations, type Life } from '../harness/held-operations.ts';
import { createIds, createRelayWithoutNetwork } from '../harness/world.ts';

export type JournalFault = 'append-fails' | 'append-fails-after' | 'append-tears' | 'read-fails';

/** A text on a disk, with lines of which a kill may leave a part. */
const createText = () => {
  let text = '';
  return {
    append(line: string, share = 1): void {
      const start = text === '' || text.endsWith('\n') ? '' : '\n';
      const whole = `${start}${line}\n`;
      text += whole.slice(0, Math.round(whole.length * share));
    },
    wholeLinesFrom(offset: number): { readonly lines: readonly string[]; readonly end: number } {
      const end = text.lastIndexOf('\n') + 1;
      const lines = text.slice(offset, end).split('\n');
      return { lines: lines.filter((line) => line !== ''), end };
    },
  };
};

export type Process = {
  readonly life: Life;
  readonly admin: RelayAdmin;
  /** How many credits there were when this process last looked into the journal. */
  readonly creditsAtLastRead: () => number;
  /** How often it could not. */
  readonly failedReads: () => number;
};

/** Several servers over one relay and one journal file, whose every operation is held back until a test lets it go on. */
type Processes = {
  readonly control: RelayControl;
  readonly clock: FakeClock;
  readonly operations: HeldOperations;
  readonly lines: () => readonly string[];
  /** Lines that a process wanted to write and was told that it could not. */
  readonly refusedLines: readonly string[];
  /** Waits for the next operation of the journal that it fits. */
  readonly useJournalFault: (fault: JournalFault) => void;
  readonly clearJournalFaults: () => void;
  readonly start: (name: string) => Process;
};

const digest = async (text: string): Promise<string> => createHash('sha256').update(text).digest('hex');
const mac = async (secret: string, text: string): Promise<string> =>
  createHmac('sha256', secret).update(text).digest('base64url');

export const createProcesses = (operations: HeldOperations = createHeldOperations()): Processes => {
  const clock = createFakeClock();
  const newId = createIds();
  const { control, direct } = createRelayWithoutNetwork(clock, newId);
  const text = createText();
  const journalFaults: JournalFault[] = [];
  const refusedLines: string[] = [];
  const takeFault = (kind: 'append' | 'read'): JournalFault | undefined => {
    const index = journalFaults.findIndex((fault) => fault.startsWith(kind));
    return index < 0 ? undefined : journalFaults.splice(index, 1)[0];
  };

  const exchangeOf =
    (life: Life): HttpClient =>
    (sent) => {
      // Whoever stops waiting before the request is on its way cannot stop it any more.
      const delivered = async () => {
        const socket = new AbortController();
        const leave = () => socket.abort(sent.signal.reason);
        if (!sent.signal.aborted) sent.signal.addEventListener('abort', leave, { once: true });
        life.end.signal.addEventListener('abort', leave, { once: true });
        return direct({ ...sent, signal: socket.signal }).finally(() => {
          sent.signal.removeEventListener('abort', leave);
          life.end.signal.removeEventListener('abort', leave);
        });
      };
      return operations.hold(life, {
        label: `${sent.method} ${sent.url.replace(/.*\/admin\//, '')}`,
        effect: delivered,
        remainder: (share) => {
          if (share >= 0.5) void delivered().catch(() => {});
        },
        signal: sent.signal,
      });
    };

  const fileOf = (life: Life, onRead: (isRead: boolean) => void): JournalFile => {
    let offset = 0;
    return {
      append: (line) =>
        operations.hold(life, {
          label: `append ${/"kind":"(\w+)"/.exec(line)?.[1]}`,
          async effect() {
            const fault = takeFault('append');
            if (fault !== 'append-fails') text.append(line, fault === 'append-tears' ? 0.6 : 1);
            if (fault === undefined) return;
            refusedLines.push(line);
            throw new Error('The disk fails');
          },
          remainder: (share) => text.append(line, share),
        }),
      readNew: () =>
        operations.hold(life, {
          label: 'read',
          async effect() {
            const isRead = takeFault('read') === undefined;
            onRead(isRead);
            if (!isRead) throw new Error('The disk fails');
            const { lines, end } = text.wholeLinesFrom(offset);
            offset = end;
            return lines;
          },
          remainder: () => {},
        }),
    };
  };

  return {
    control,
    clock,
    operations,
    lines: () => text.wholeLinesFrom(0).lines,
    refusedLines,
    useJournalFault: (fault) => void journalFaults.push(fault),
    clearJournalFaults: () => void journalFaults.splice(0),
    start(name) {
      const life = createLife(name);
      let creditsAtLastRead = 0;
      let failedReads = 0;
      const admin = createRelayAdmin({
        config: readRelayConfig({
          RELAY_BASE_URL: 'http://relay.test:8080',
          RELAY_ALLOWED_HOST: 'relay.test',
          RELAY_ADMIN_API_KEY: DEMO_ADMIN_KEY,
        }),
        httpClient: exchangeOf(life),
        clock,
        journalFile: fileOf(life, (isRead) => {
          if (isRead) creditsAtLastRead = control.credits().length;
          else failedReads += 1;
        }),
        digest,
        mac,
        newId,
        log: () => {},
        version: '0.0.0-test',
      });
      return { life, admin, creditsAtLastRead: () => creditsAtLastRead, failedReads: () => failedReads };
    },
  };
};
