import type { Variables } from '../../core/config.ts';
import { type GatewaySettings, MAX_WORKERS } from './variables.ts';

/** Whether more than one process may be asked for. What is set is not checked here. */
export const asksForWorkers = ({ GATEWAY_WORKERS = '' }: Variables): boolean =>
  !['', '1'].includes(GATEWAY_WORKERS.trim());

/** How many processes the settings ask for, on a machine with `cores`. Each of them needs a call to the backend of its own. */
export const workersFor = ({ GATEWAY_WORKERS, MAX_CONCURRENCY }: GatewaySettings, cores: number): number =>
  GATEWAY_WORKERS === 'auto' ? Math.min(cores, MAX_CONCURRENCY, MAX_WORKERS) : GATEWAY_WORKERS;

/** A worker process of a gateway, by its number from 1, and how many there are. */
export type WorkerPlace = { readonly number: number; readonly of: number };

/** The settings of one worker: its part of what the whole gateway may do at a time. The parts add up to no more than the whole. */
export const settingsOfWorker = (settings: GatewaySettings, { number, of }: WorkerPlace): GatewaySettings => {
  const { MAX_CONCURRENCY: calls, MAX_BODY_BYTES_IN_FLIGHT: bytes } = settings;
  return {
    ...settings,
    MAX_CONCURRENCY: Math.floor(calls / of) + (number <= calls % of ? 1 : 0),
    MAX_BODY_BYTES_IN_FLIGHT: bytes === undefined ? undefined : Math.floor(bytes / of),
  };
};
